// An f16 operand made of a state, such as S∘e, takes its scale from the state's maximum rather than from its own: that
// is known long before the operand is. In backward programs other warps contract over all rows, and then there is one
// scale for all of them; else each warp takes that of its own.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

void scale_by_states(chunk::ProgramOp program);

// In backward programs contractions and their sums take scales from bounds, too: all warps know them, so that operands
// of contractions over values have one scale instead of one for each warp's values, and nobody looks for maxima of
// what was just computed.
void scale_by_sums(chunk::ProgramOp program);

}  // namespace wkvc
