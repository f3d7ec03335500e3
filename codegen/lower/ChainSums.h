// Sums of contractions as chains: x + (y + p) becomes (x + y) + p where p is a contraction that nothing else reads, so
// that mma adds each contraction to the registers of the sum before it.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

void chain_sums(chunk::ProgramOp program);

}  // namespace wkvc
