// Numbers of tokens that an input is multiplied by before contractions read it, as decays of one number a token are,
// leave the input: (n∘x)·Sᵀ = n∘(x·Sᵀ), and Uᵀ·(n∘x) = (n∘U)ᵀ·x. So operands are the inputs themselves, which have one
// rounding and one place in shared memory for all contractions, and no warp multiplies their columns.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Of a program without scales; others stay as they are: there an operand's scale would have to move with the number.
// Returns whether anything has moved; values that are the same may then be there twice.
bool move_token_factors(chunk::ProgramOp program);

// Returns whether a number of a token or of the chunk is a copy for value rows, which multiply by it.
bool is_for_rows(mlir::Operation* number);

}  // namespace wkvc
