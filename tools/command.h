// The wkvc command as a function, so that a program of a user's own can be that command with recurrences of its own:
//
//   int main(int argc, char** argv) { return wkvc::command_main(argc, argv, {my_recurrence}); }
#pragma once

#include <initializer_list>

#include "dsl/wkvc.h"

namespace wkvc {

// Runs the subcommand that the arguments name, on the built-in recurrences and those given. Writes to the standard
// output and error, and returns the exit status that README.md lists.
int command_main(int argc, char** argv, std::initializer_list<Definition (*)()> recurrences = {});

}  // namespace wkvc
