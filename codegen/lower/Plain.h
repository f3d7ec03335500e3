// Most heads need no scales: their numbers fit f16 as they are. A program without them takes a sixth less time, and
// notices on its way where they don't fit.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Puts a program without scales before one that has any, which is then for what the first refuses. A program whose
// numbers may be small by themselves, whatever its inputs are, stays alone.
void add_plain(chunk::ProgramOp program);

}  // namespace wkvc
