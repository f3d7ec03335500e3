// Whether kernels compute what the recurrence says.
#pragma once

#include <cstdint>
#include <string>

#include "autotune/lockfile/accuracy.h"
#include "checking/passes.h"
#include "checking/reference/comparison.h"
#include "checking/values/cases.h"
#include "codegen/rec/Rec.h"
#include "runtime/program.h"

namespace wkvc {

struct Verdict {
  std::string fault;  // empty: valid
  Accuracies errors;
  std::string outputs;  // hash128 of every result
};

// A size with the tails of the launches that are timed, and few enough heads and tokens that a second can check them:
// the remainders by every chunk and distance of saved states that are tried stay.
LaunchSize size_to_validate(LaunchSize timed);

// One random case with its reference in float64, for all configurations of one recurrence, storage and pass.
class Validation {
 public:
  // `runnable` tells tensors and passes; any configuration's will do.
  Validation(rec::RecurrenceOp recurrence, const Runnable& runnable, LaunchSize size, std::uint64_t seed);

  // Valid: every result there is is within its bound, several runs give the same bytes, and inputs stay as they are.
  Verdict of(const Program& program, const Runnable& runnable) const;

 private:
  rec::RecurrenceOp recurrence_;
  Case given_;
  Reference reference_;
};

}  // namespace wkvc
