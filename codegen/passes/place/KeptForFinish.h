// What teams prepare and keep in shared memory for what they make of the states. Numbers of tokens are else made again
// from inputs by each warp in each phase.
#pragma once

#include "codegen/passes/place/Plan.h"

namespace wkvc {

// Gives slabs and matrices that are made of states one copy, for all of them and for value rows, of each number of
// tokens that they read. Returns whether there are any.
bool keep_numbers(chunk::ProgramOp program, const Plan& plan);

// Returns whether one warp makes a value while its team prepares, and all later readers load the value.
bool is_kept_for_finish(mlir::Operation* op);

}  // namespace wkvc
