// The command as a function: with recurrences of a user's own that are no good, and in a program that goes on.
#include "tools/command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "jit/wkvc.h"
#include "runtime/warnings.h"
#include "tools/signals.h"

namespace wkvc::test {
namespace {

Definition throwing() {
  return recurrence("throwing", [](Recurrence&) { throw 7; });
}

// Without an output.
Definition broken() {
  return recurrence("aaa", [](Recurrence& op) {
    Dim K = op.key_dim(16), V = op.value_dim(16);
    auto k = op.input("k", K, f32), v = op.input("v", V, f32);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    op.update(S, S + outer(v, k));
  });
}

// With the list on stderr, where death tests look.
int listed_with(Definition (*own)()) {
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  char program[] = "wkvc", command[] = "list";
  char* argv[] = {program, command, nullptr};
  const int status = command_main(2, argv, {own});
  std::fflush(stdout);
  return status;
}

// Each in a process of its own: the command changes what a process does on signals.
TEST(CommandMain, NullFunctionsAreTheCallersMistake) {
  EXPECT_EXIT(_exit(listed_with(nullptr)), testing::ExitedWithCode(2), "wkvc: command_main was given a null function");
}

TEST(CommandMain, WhateverARecurrenceThrowsIsReported) {
  EXPECT_EXIT(_exit(listed_with(throwing)), testing::ExitedWithCode(3), "wkvc: .*no std::exception");
}

TEST(CommandMain, ABrokenRecurrenceHidesNoOther) {
  EXPECT_EXIT(_exit(listed_with(broken)), testing::ExitedWithCode(2),
              "wkvc: .*'aaa' lacks outputs.*comba .*simple_gla |comba .*simple_gla .*wkvc: .*'aaa' lacks outputs");
}

std::size_t threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

sigset_t blocked_signals() {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return blocked;
}

int listed() {
  char program[] = "wkvc", command[] = "list";
  char* argv[] = {program, command, nullptr};
  return wkvc_command(2, argv);
}

using Handler = void (*)(int);

Handler handler_of(int signal) {
  struct sigaction current{};
  ::sigaction(signal, nullptr, &current);
  return current.sa_handler;
}

// For programs that call the command, and go on.
TEST(CommandMain, LeavesTheProcessAsItWas) {
  std::vector<std::string> heard;
  on_warning([&](std::string_view text) { heard.emplace_back(text); });
  const std::string environment = std::getenv("VIRTUAL_ENV") == nullptr ? "" : std::getenv("VIRTUAL_ENV");
  const std::size_t before = threads();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(listed(), 0);
  EXPECT_EQ(threads(), before);
  const sigset_t blocked = blocked_signals();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(sigismember(&blocked, signal), 0);
    EXPECT_EQ(handler_of(signal), SIG_DFL);
  }
  EXPECT_EQ(std::getenv("VIRTUAL_ENV") == nullptr ? "" : std::string(std::getenv("VIRTUAL_ENV")), environment);
  warn_once("CommandMain", "still heard");
  EXPECT_EQ(heard, std::vector<std::string>{"still heard"});
  on_warning({});
}

TEST(CommandMain, SignalsThatTheProgramHandlesStayTheProgramsOwn) {
  static std::atomic<int> handled;
  handled = 0;
  ::signal(SIGINT, [](int) { ++handled; });
  const CleanUpOnSignals outer;
  EXPECT_NE(handler_of(SIGTERM), SIG_DFL);
  {
    const CleanUpOnSignals inner;
    ::raise(SIGINT);
  }
  EXPECT_EQ(handled, 1);
  EXPECT_NE(handler_of(SIGTERM), SIG_DFL);  // as long as one command runs
  ::signal(SIGINT, SIG_DFL);
}

TEST(CommandMain, AHandlerThatTheProgramInstallsMeanwhileStays) {
  {
    const CleanUpOnSignals signals;
    ::signal(SIGHUP, SIG_IGN);
  }
  EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  ::signal(SIGHUP, SIG_DFL);
}

// As workers are that another thread forks meanwhile.
TEST(CommandMain, ASignalEndsAForkedProcess) {
  const CleanUpOnSignals signals;
  const pid_t child = ::fork();
  if (child == 0) {
    ::sleep(60);
    ::_exit(0);
  }
  ::kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(CommandMain, ASignalEndsTheProgramWhileACommandRuns) {
  const auto interrupted = [] {
    const CleanUpOnSignals signals;
    ::raise(SIGTERM);
    ::sleep(60);
  };
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(128 + SIGTERM), "");
  const auto afterwards = [] {
    {
      const CleanUpOnSignals signals;
    }
    ::raise(SIGTERM);
  };
  EXPECT_EXIT(afterwards(), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace wkvc::test
