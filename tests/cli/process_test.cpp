// The command among other processes: standard streams that are closed or full, and signals that end it.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "runtime/nvrtc/nvrtc.h"
#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

namespace fs = std::filesystem;

class Process : public CommandTest {
 protected:
  fs::path beside(const char* name) const { return directory().parent_path() / name; }

  // Starts a check whose host compiler does nothing but wait; returns once it does.
  pid_t start_compiling() {
    fs::create_directory(beside("temporary"));
    const std::string compiler = file("compiler", "#!/bin/sh\n: > " + started().string() + "\nexec sleep 300\n");
    fs::permissions(compiler, fs::perms::owner_all);
    const std::string temporary = beside("temporary");
    const pid_t child = start(WKVC_COMMAND, {"check", "--source", naive_kernel, "--device", "cpu"}, [&] {
      setenv("TMPDIR", temporary.c_str(), 1);
      setenv("CXX", compiler.c_str(), 1);
      for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);  // whatever the tests run under
    });
    for (int i = 0; i < 6000 && !fs::exists(started()); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return child;
  }
  fs::path started() const { return beside("started"); }
};

void fill(int descriptor) { dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), descriptor); }

TEST_F(Process, ErrorsThatNobodyCanRead) {
  EXPECT_EQ(wkvc({"check", "rwkv9"}, [] { close(STDERR_FILENO); }).status, 2);
  EXPECT_EQ(wkvc({"check", "rwkv9"}, [] { fill(STDERR_FILENO); }).status, 2);
  const std::string failing = file("failing.cu", edited(contents_of(naive_kernel), "return 0;", "return 1;"));
  const std::vector<std::string> check{"check", "--source", failing, "--device", "cpu", "--shape", "1,1,1"};
  EXPECT_EQ(wkvc(check, [] { close(STDERR_FILENO); }).status, 1);
  EXPECT_EQ(wkvc(check, [] { fill(STDERR_FILENO); }).status, 1);
}

TEST_F(Process, OutputThatNobodyCanRead) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"list"},
                                                    {"emit", "rwkv7", "--stage", "cuda"},
                                                    {"explain", "rwkv7", "--json"},
                                                    {"--help"},
                                                    {"--version"},
                                                    {"check", "--help"}}) {
    for (const bool closed : {true, false}) {
      const Outcome outcome = wkvc(arguments, [&] { closed ? (void)close(STDOUT_FILENO) : fill(STDOUT_FILENO); });
      EXPECT_EQ(outcome.status, 2) << arguments[0] << closed;
      EXPECT_NE(outcome.err.find("standard output"), std::string::npos) << outcome.err;
    }
  }
}

// No file that the command writes takes the place of a closed stream.
TEST_F(Process, EveryStreamClosed) {
  const Outcome outcome =
      wkvc({"run", "--source", naive_kernel, "--device", "cpu", "--input", activations, "--output", "out"}, [] {
        for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(descriptor);
      });
  EXPECT_EQ(outcome.status, 2);  // its report cannot be written
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_EQ(contents_of(directory() / "out").find("rwkv7 on cpu"), std::string::npos);
}

TEST_F(Process, SignalsLeaveNothingBehind) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = start_compiling();
    EXPECT_FALSE(fs::is_empty(beside("temporary")));
    kill(child, signal);
    const Outcome outcome = finish(child);
    EXPECT_EQ(outcome.status, 128 + signal);
    EXPECT_EQ(outcome.out + outcome.err, "");
    EXPECT_TRUE(fs::is_empty(beside("temporary"))) << signal;
    fs::remove(started());
  }
}

// As nohup starts it.
TEST_F(Process, IgnoredSignalsStayIgnored) {
  auto* const before = signal(SIGHUP, SIG_IGN);  // which a new process inherits
  const pid_t child = start(WKVC_COMMAND, {"check", "rwkv7", "--device", "cpu", "--shape", "1,16,1"});
  signal(SIGHUP, before);
  for (int i = 0; i < 20; ++i) {
    kill(child, SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(finish(child).status, 0);
}

// As supervisors start programs that need not be waited for.
TEST_F(Process, ChildrenThatNobodyWaitsFor) {
  const Outcome outcome =
      wkvc({"check", "rwkv7", "--device", "cpu", "--shape", "1,16,1"}, [] { signal(SIGCHLD, SIG_IGN); });
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(Process, ACompilerThatIsKilledIsNoFaultOfWkvc) {
  const std::string compiler = file("compiler", "#!/bin/sh\nkill -9 $$\n");
  fs::permissions(compiler, fs::perms::owner_all);
  const Outcome outcome =
      wkvc({"check", "rwkv7", "--device", "cpu", "--shape", "1,16,1"}, [&] { setenv("CXX", compiler.c_str(), 1); });
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("Killed"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
}

// A new program gives its warps stacks of the size that its own may have.
TEST_F(Process, NoStackForAWarpIsNoFaultOfWkvc) {
  const Outcome outcome = wkvc({"check", "rwkv7", "--device", "cpu", "--shape", "1,16,1"}, [] {
    const rlimit huge{std::size_t{1} << 46U, RLIM_INFINITY};
    if (setrlimit(RLIMIT_STACK, &huge) != 0) _exit(77);
  });
  if (outcome.status == 77) GTEST_SKIP() << "the limit of stacks cannot be raised here";
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("Each warp takes a stack (ulimit -s): free memory"), std::string::npos) << outcome.err;
}

void limit_files(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(127);
}

TEST_F(Process, FilesBeyondALimitLeaveNothing) {
  const Outcome outcome = wkvc({"emit", "rwkv7", "--stage", "cuda", "-o", "out.cu"}, [] { limit_files(1000); });
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("cannot write out.cu: File too large. Nothing was written to it; raise the limit"),
            std::string::npos)
      << outcome.err;
  EXPECT_FALSE(wrote_something());
}

TEST_F(Process, PrecompiledKernelsBeyondALimitLeaveNothing) {
  std::string why_not;
  if (!nvrtc_available(&why_not)) GTEST_SKIP() << why_not;
  const Outcome outcome =
      wkvc({"precompile", "rwkv6", "--chunk", "1", "--head", "16", "-o", "."}, [] { limit_files(1000); });
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("File too large. Nothing was written to it; raise the limit"), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(wrote_something());
}

// The header is small enough, and the source with the cubins is not.
TEST_F(Process, PackWritesAllFilesOrNone) {
  std::string why_not;
  if (!nvrtc_available(&why_not)) GTEST_SKIP() << why_not;
  const std::vector<std::string> pack{"pack", "rwkv6", "--heads", "16", "--chunk", "1", "--name", "kernels"};
  const Outcome outcome = wkvc(pack, [] { limit_files(12'000); });
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("cannot write ./kernels.cpp: File too large"), std::string::npos) << outcome.err;
  EXPECT_FALSE(wrote_something());
  EXPECT_EQ(wkvc(pack).status, 0);
  EXPECT_TRUE(fs::exists(directory() / "kernels.h"));
}

}  // namespace
}  // namespace wkvc::test
