// Reverse-mode differentiation of a chunk program: from the gradients of its outputs and of the state after the chunk
// to those of its inputs, its parameters and the state before the chunk.
#pragma once

#include <string>
#include <vector>

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Appends the backward program after `forward`, which says what to differentiate by and no longer does then. The
// gradient of the initial state is always there; "initial_state" alone asks for no other. The forward program
// keeps its inverses for the backward one (KeptMatrices.h). Throws UserError for another name.
chunk::ProgramOp differentiate(chunk::ProgramOp forward);

// Inserts, before `backward`, what of `forward` brings the state on.
void recompute_program(chunk::ProgramOp forward, chunk::ProgramOp backward);

// The same inside `backward`, as the update of its saved state, if it reads that.
void recompute_inside(chunk::ProgramOp forward, chunk::ProgramOp backward);

}  // namespace wkvc
