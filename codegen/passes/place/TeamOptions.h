// What messages call the teams of a kernel.
#pragma once

#include <string>

namespace wkvc {

// Returns what gives a kernel its teams: "--teams 3", or "--rounds 2" of one team ahead, which no --teams asks for.
std::string teams_option(int teams, bool ahead);

// Returns what leaves a kernel without teams: "--teams 1 with --rounds 1"; `first` is of a backward kernel "N,".
std::string no_teams_option(int teams, bool ahead, const char* first = "");

}  // namespace wkvc
