// What keeps a program from being a kernel of so many teams, told to the user.
#pragma once

#include "codegen/chunk/Chunk.h"
#include "codegen/lower/Crew.h"

namespace wkvc {

// Throw UserError.
void check_saved(chunk::ProgramOp program, chunk::ProgramOp recompute, int teams);
void check_teams(chunk::ProgramOp program, const Crew& crew);
void check_guard(chunk::ProgramOp program, const Crew& crew);

}  // namespace wkvc
