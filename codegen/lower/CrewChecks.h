// What keeps a program from being a kernel of so many teams, told to the user.
#pragma once

#include <string>

#include "codegen/chunk/Chunk.h"
#include "codegen/lower/Crew.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// "--rounds 1, --teams 2 or --segments 1".
std::string alternatives(llvm::ArrayRef<std::string> options);

// Throw UserError.
void check_saved(chunk::ProgramOp program, chunk::ProgramOp recompute, int teams);
void check_teams(chunk::ProgramOp program, const Crew& crew);
void check_guard(chunk::ProgramOp program, const Crew& crew);
// Of a finished kernel: with fewer registers than an instruction takes ptxas does not compile it.
void check_registers(warp::KernelOp kernel, chunk::ProgramOp program, const Crew& crew);

}  // namespace wkvc
