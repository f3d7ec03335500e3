// Kernels and inputs on which false_alarms counts how often `check` fails right kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "checking/execute.h"
#include "checking/values/cases.h"
#include "codegen/rec/Rec.h"

namespace wkvc::bench {

using Random = std::mt19937_64;

// A recurrence and the options that its kernels are made with.
struct Setting {
  std::string op, options;  // "rwkv7", "--head 64 --mma bf16"
  std::string text() const { return op + " " + options; }
};

// Recurrences of one number and of one vector of decays, with and without delta rules; operands, storage and schedules.
std::vector<Setting> all_settings();

// The compiled kernels of a setting, forward and backward.
class Kernels {
 public:
  // Throws UserError for options that nothing is made with.
  Kernels(const Setting& setting, Target target);

  rec::RecurrenceOp recurrence() const { return recurrence_; }
  const Runnable& runnable() const { return runnable_; }

  // Fills the case's results.
  void run(Case& values) const;

  // Returns a few heads and tokens, drawn as `check` draws them.
  Case random_case(Random& random) const;

  // Returns windows of the activations in `recorded`, each head another head from another token on; each token's
  // gradient keeps its sign or not.
  Case recorded_case(const Case& recorded, Random& random) const;

  // Returns the file's activations where the kernels take them.
  std::optional<Case> recorded(const std::string& path) const;

 private:
  Subject subject_;
  Runnable runnable_;
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  rec::RecurrenceOp recurrence_;
  Program program_;
};

}  // namespace wkvc::bench
