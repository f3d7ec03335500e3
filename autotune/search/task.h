// What is to be tuned: one recurrence, its storage and pass, and the sizes it is used at.
#pragma once

#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/OwningOpRef.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "autotune/lockfile/gpu.h"
#include "autotune/lockfile/journal.h"
#include "autotune/lockfile/lockfile.h"
#include "autotune/lockfile/settings.h"
#include "autotune/search/space.h"
#include "autotune/search/trial.h"
#include "autotune/search/validation.h"
#include "checking/passes.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

struct TuningRequest {
  Source source;  // of the rec stage
  Config config;  // what is settled; the rest is searched
  std::vector<LaunchSize> sizes;
  Gpu gpu;
  std::uint64_t seed = 0;                  // of the inputs that are validated on
  std::string inputs = {};                 // hash128 of the file that is timed on; empty: inputs are drawn
  Lockfile defaults = shipped_lockfile();  // what calls go by without a lockfile of the user's
  std::vector<LockEntry> known = {};       // winners of before, which are tried again where they are of the same kind
  bool alone = false;                      // these are all that is tried beside what calls take
  SpaceLimits limits = {};
};

// The GPU's facts, or those of an H200 where there is none.
Gpu gpu_here(Target target, const std::string& arch);

class TuningTask {
 public:
  // Throws UserError for what no configuration can mend: a recurrence that is not supported, no pass both or forward.
  explicit TuningTask(TuningRequest request);

  // What calls take without a lockfile, of the sizes in their order, and everything to try, these first.
  const std::vector<Config>& untuned() const { return untuned_; }
  const Config& untuned_at(LaunchSize size) const;
  const std::vector<Config>& order() const { return order_; }
  const std::vector<LaunchSize>& sizes() const { return request_.sizes; }
  const Source& source() const { return request_.source; }
  Passes passes() const { return request_.config.pass == "forward" ? Passes::forward : Passes::both; }
  rec::RecurrenceOp recurrence() const;
  ShapeClass shape_class(LaunchSize size) const;

  // What identifies this run for a journal.
  TuningRun run() const;
  // The case of this size that every trial is validated on; `trial` has kernels.
  Validation validation(const Trial& trial, LaunchSize size) const;
  // Where results that were found here and now come from.
  Evidence evidence(std::size_t tried) const;
  // The result for a lockfile; `best` was timed.
  LockEntry entry(const Candidate& best, double copy_ms, std::size_t tried) const;

 private:
  std::vector<Config> configurations_to_try() const;
  bool is_of_this(const LockEntry& entry) const;  // of this kind on this GPU

  TuningRequest request_;
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<Config> untuned_, order_;
};

}  // namespace wkvc
