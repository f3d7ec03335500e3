// Programs that are started: how they end, what they print, and a process that does not hear of its children.
#include "runtime/base/process.h"

#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

ProcessResult shell(const std::string& script) { return run_process({"sh", "-c", script}); }

TEST(Process, SaysHowItEnded) {
  EXPECT_TRUE(shell("echo out; echo err >&2").succeeded);
  EXPECT_EQ(shell("echo out; echo err >&2").output, "out\nerr\n");
  EXPECT_EQ(shell("exit 3").output, "sh exited with 3\n");
  EXPECT_EQ(shell("exit 3").signal, 0);
  EXPECT_EQ(shell("kill -9 $$").output, "sh was ended by signal 9\n");
  EXPECT_EQ(shell("kill -9 $$").signal, SIGKILL);
  EXPECT_EQ(shell("sh -c 'kill -9 $$'; exit $?").signal, SIGKILL);
  EXPECT_EQ(shell("exit 255").signal, 0);
}

TEST(Process, SpeaksTheCLocale) { EXPECT_EQ(shell("echo $LC_ALL").output, "C\n"); }

TEST(Process, OneThatCannotBeStartedIsNamed) {
  EXPECT_TRUE(NotStarted("x", ENOENT).is_missing());
  EXPECT_FALSE(NotStarted("x", EAGAIN).is_missing());
  expect_error([] { run_process({"/nowhere/program"}); }, {"cannot start /nowhere/program", "No such file", "name a"});
}

// Another process may have the output open, such as a worker that was forked meanwhile.
TEST(Process, OnlyTheProgramIsWaitedFor) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(shell("sleep 60 & echo done").output, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

class IgnoredChildren : public ::testing::Test {
 protected:
  ~IgnoredChildren() override { ::signal(SIGCHLD, before_); }

 private:
  using Handler = void(int);
  Handler* before_ = ::signal(SIGCHLD, SIG_IGN);
};

TEST_F(IgnoredChildren, HowTheyEndedIsUnknown) {
  const ProcessResult result = shell("sleep 0.1; echo out; exit 3");
  EXPECT_TRUE(result.unknown);
  EXPECT_FALSE(result.succeeded);
  EXPECT_EQ(result.output, "out\n");
}

TEST_F(IgnoredChildren, TheyHearOfTheirOwn) { EXPECT_EQ(shell("trap").output, ""); }

// As supervisors have one.
TEST(Process, AThreadThatWaitsForAnyChildDoesNoHarm) {
  std::atomic<bool> going_on = true;
  std::thread reaper([&] {
    while (going_on)
      if (::waitpid(-1, nullptr, WNOHANG) <= 0) std::this_thread::yield();
  });
  for (int i = 0; i < 50; ++i) {
    const ProcessResult result = shell("echo out");
    EXPECT_TRUE(result.unknown || result.succeeded);
    EXPECT_EQ(result.output, "out\n");
  }
  going_on = false;
  reaper.join();
}

}  // namespace
}  // namespace wkvc
