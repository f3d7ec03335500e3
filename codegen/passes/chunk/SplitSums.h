// Sums along tokens of C×C matrices that are sums themselves, as the gradients of decays between tokens. One warp would
// make all terms of such a matrix. Sums along tokens are linear: each term has its own, so that another warp may make
// each, and vectors alone cross between warps.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Splits the sums of terms that have no contraction in common. Returns whether there are any.
bool split_sums(chunk::ProgramOp program);

}  // namespace wkvc
