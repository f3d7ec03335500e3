// Uses of shared memory that nothing orders.
#pragma once

#include <optional>

#include "codegen/warp/verify/Accesses.h"

namespace wkvc::warp {

// An access, and what it has no order with: the access of other warps, a copy under way to the bytes, or what has been
// written over them.
struct Race {
  enum Kind { unordered, under_copy, overwritten } kind;
  Access access, other;
  PhaseOp phase;  // the last one at which these warps may meet in between, if there is one
};

// Returns the first race that the warps of a kernel come to, if there is one. Which warp makes a matrix does not count
// from phase to phase, so that matrices of two phases have a barrier in between.
std::optional<Race> first_race(KernelOp kernel);

}  // namespace wkvc::warp
