// What messages call the teams of a kernel, and what they offer in place of them.
#pragma once

#include <string>

#include "codegen/passes/place/Plan.h"

namespace wkvc {

// Returns what gives a kernel so many teams: "--teams 3", or "--rounds 2" of one team ahead, which no --teams asks for.
std::string teams_option(int count, bool ahead);

// Returns what leaves a kernel without teams: "--teams 1 with --rounds 1"; `first` is of a backward kernel "N,".
std::string no_teams_option(int count, bool ahead, const char* first = "");

// Returns the options with which a block has less to hold at once: "--rounds 1", "fewer --teams".
llvm::SmallVector<const char*> smaller_teams(chunk::ProgramOp program, const Plan& plan);

// Returns what has a part of a block's memory each, " for 2 teams in each of 2 blocks"; empty for a single block
// without teams.
std::string teams_text(const Plan& plan);

}  // namespace wkvc
