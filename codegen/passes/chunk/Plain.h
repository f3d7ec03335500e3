// Most heads need no scales: their numbers fit f16 as they are. A program without them takes a sixth less time, and
// notices on its way where they don't fit.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Puts `source`, which may be the program itself, before it, without scales; the program is then for what that one
// refuses. A source that has no scales, or whose numbers may be small by themselves, whatever its inputs are, is not
// added.
void add_plain(chunk::ProgramOp program, chunk::ProgramOp source);

// Whether a program that refuses what it does not hold is likely to find it on the way: its decays are not known.
bool refuses_early(chunk::ProgramOp program);

}  // namespace wkvc
