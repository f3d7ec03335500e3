// What is to be tuned: one recurrence, its storage and pass, and the sizes it is used at.
#pragma once

#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/OwningOpRef.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "autotune/lockfile/journal.h"
#include "autotune/lockfile/lockfile.h"
#include "autotune/search/space.h"
#include "autotune/search/tuner.h"
#include "checking/passes.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

struct TuningRequest {
  Source source;       // of the rec stage
  Config config;       // what is settled; the rest is searched
  bool alone = false;  // the configuration is all there is to try
  std::vector<LaunchSize> sizes;
  std::uint64_t seed = 0;  // of the inputs that are validated on
  SpaceLimits limits = {};
};

// The GPU's facts, or those of an H200 where there is none.
Gpu gpu_here(Target target, const std::string& arch);

class TuningTask {
 public:
  // Throws UserError for what no configuration can mend: a recurrence that is not supported, no pass both or forward.
  explicit TuningTask(TuningRequest request);

  const std::vector<Config>& space() const { return space_; }
  const std::vector<LaunchSize>& sizes() const { return request_.sizes; }
  const Source& source() const { return request_.source; }
  Passes passes() const { return request_.config.pass == "forward" ? Passes::forward : Passes::both; }
  rec::RecurrenceOp recurrence() const;
  ShapeClass shape_class(LaunchSize size) const;

  // What identifies this run for a journal.
  TuningRun run_on(const Gpu& gpu) const;
  // The case that every trial is validated on; `trial` has kernels.
  Validation validation(const Trial& trial) const;
  // Where results that were found here and now come from.
  Evidence evidence(const Gpu& gpu, std::size_t tried) const;
  // The result for a lockfile; `best` was timed.
  LockEntry entry(const Candidate& best, const Gpu& gpu, double copy_ms, std::size_t tried) const;

 private:
  TuningRequest request_;
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<Config> space_;
};

}  // namespace wkvc
