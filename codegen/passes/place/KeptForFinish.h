// Teams prepare numbers of tokens and decays between tokens once, and keep both in shared memory for what they make of
// the states. Else each warp makes numbers again from inputs in each phase, and decays again for each of its matrices.
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
