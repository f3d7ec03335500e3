// In backward programs: an f16 operand made of a state, such as S∘e, takes its scale from the state's maximum rather
// than from its own. Warps that own other rows contract over all of them, and then there is one scale for all rows. The
// state's maximum is known a barrier before the operand is.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

void scale_by_states(chunk::ProgramOp program);

}  // namespace wkvc
