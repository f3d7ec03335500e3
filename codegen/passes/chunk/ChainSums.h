// Sums as chains in the order in which their terms are there, contractions last among those of one phase, so that each
// contraction accumulates in the registers of the sum before it: x + (p + y) becomes (x + y) + p. Sums over tokens join
// first: Σx + Σy becomes Σ(x + y).
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

void chain_sums(chunk::ProgramOp program);

}  // namespace wkvc
