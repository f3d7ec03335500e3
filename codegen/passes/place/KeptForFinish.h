// What teams prepare and keep in shared memory for what they make of the states. Numbers of tokens are else made again
// from inputs by each warp in each phase, decays between tokens by each warp that has a matrix with them.
#pragma once

#include "codegen/passes/place/Plan.h"

namespace wkvc {

// Gives slabs and matrices that are made of states one copy, for all of them and for value rows, of each number of
// tokens that they read. Returns whether there are any.
bool keep_numbers(chunk::ProgramOp program, const Plan& plan);

// Gives matrices that are made of states one copy of each matrix of decays between tokens. Has contractions of inputs
// that such a copy multiplies made while preparing. Each takes a warp that prepares no matrix else. Returns whether
// there are any.
bool keep_matrices(chunk::ProgramOp program, const Plan& plan);

// Returns whether one warp makes a value while its team prepares, and all later readers load the value.
bool is_kept_for_finish(mlir::Operation* op);

}  // namespace wkvc
