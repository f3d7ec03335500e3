// The command as a function, with recurrences of a user's own that are no good.
#include "tools/command.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace wkvc::test {
namespace {

Definition throwing() {
  return recurrence("throwing", [](Recurrence&) { throw 7; });
}

int listed_with(Definition (*own)()) {
  char program[] = "wkvc", command[] = "list";
  char* argv[] = {program, command, nullptr};
  return command_main(2, argv, {own});
}

// Each in a process of its own: the command changes what a process does on signals.
TEST(CommandMain, NullFunctionsAreTheCallersMistake) {
  EXPECT_EXIT(_exit(listed_with(nullptr)), testing::ExitedWithCode(2), "wkvc: command_main was given a null function");
}

TEST(CommandMain, WhateverARecurrenceThrowsIsReported) {
  EXPECT_EXIT(_exit(listed_with(throwing)), testing::ExitedWithCode(3), "wkvc: .*no std::exception");
}

}  // namespace
}  // namespace wkvc::test
