// The check of placed programs that a user may have edited.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Throws UserError, which names the value, what it has and what is possible, where a kernel can't have the places of
// its programs. Phases and warps of matrices may differ from those that the pass `place` chooses, and slabs may store
// more. `recompute` brings states on from those that are saved; null: all are.
void check_places(chunk::ProgramOp program, chunk::ProgramOp recompute);

}  // namespace wkvc
