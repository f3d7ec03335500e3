#include "runtime/host/host_jit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/base/temporary_directory.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/scoped_environment.h"

namespace wkvc {
namespace {

constexpr const char* text = R"(
#include "wkvc/abi.h"
#include <cstdio>
#include "wkvc/host/launch.h"
extern "C" int twice(const void* kernel_args, wkvc::host::Launch* launch) {
  const auto& args = *static_cast<const wkvc::KernelArgs<1>*>(kernel_args);
  if (args.tokens < 0) {
    std::snprintf(launch->message, sizeof launch->message, "negative tokens");
    return 7;
  }
  auto* data = static_cast<float*>(args.tensor[0].data);
  for (long long t = 0; t < args.tokens; ++t) data[t] *= 2;
  return 0;
}
)";

struct Args {
  long long batches = 1, tokens = 0, heads = 1, all_vector16 = 0, segments = 1, piece = 0, starts[2] = {},
            slots[2] = {}, report = 0, group = 1;
  void* data = nullptr;
  long long batch = 0, row = 1, head = 0, flags = 0;
};

TEST(HostJit, CompilesAndRuns) {
  float data[3] = {1, 2, 3};
  const Args args{.tokens = 3, .data = data};
  HostKernel::compile(text, "twice").run(&args, 0);
  EXPECT_EQ(data[2], 6);
}

TEST(HostJit, CompilesATextOnce) {
  const HostKernel first = HostKernel::compile(text, "twice");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) HostKernel::compile(text, "twice");
  // A thousand compilations would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(HostJit, PassesOnTheKernelsMessage) {
  const Args args{.tokens = -1};
  expect_error<InternalError>([&] { HostKernel::compile(text, "twice").run(&args, 0); },
                              {"twice", "negative tokens", "7"});
}

TEST(HostJit, ShowsLogAndNumberedSourceTogether) {
  expect_error<InternalError>([] { HostKernel::compile("int ok;\nint wrong = missing;\n", "x"); },
                              {"missing", "kernel.cpp:2", "    2 | int wrong = missing;", "exited with 1"});
}

TEST(HostJit, MissingSymbolsAreNamed) {
  expect_error<UserError>([] { HostKernel::compile(text, "thrice"); },
                          {"names the kernel \"thrice\"", "no WKVC_KERNEL(thrice"});
}

TEST(HostJit, TakesExtraFlags) {
  const ScopedEnvironment flags("WKVC_HOST_CXXFLAGS", "-DONE=1 -Wno-such-flag-is-harmless");
  const char* needs_flag = "extern \"C\" int f(const void*, void*) { return 1 - ONE; }\n";
  EXPECT_NO_THROW(HostKernel::compile(needs_flag, "f").run(nullptr, 0));
}

TEST(HostJit, ACompilerThatDoesNotStartIsNamed) {
  const ScopedEnvironment compiler("CXX", "/nowhere/cxx");
  expect_error([] { HostKernel::compile("int x;", "x"); }, {"cannot start /nowhere/cxx", "No such file"});
}

TEST(HostJit, ACompilerThatIsBrokenIsNoFaultOfAKernel) {
  const ScopedEnvironment compiler("CXX", "/bin/false");
  expect_error([] { HostKernel::compile("int z;", "z"); }, {"/bin/false", "an empty file", "CXX"});
}

TEST(HostJit, NoCompilerSaysWhatToInstall) {
  const ScopedEnvironment no_compiler("CXX", "");
  const ScopedEnvironment path("PATH", "/nowhere");
  expect_error([] { HostKernel::compile("int y;", "y"); }, {"install g++", "CXX"});
}

// A compiler that does what a script says, and is asked for its version in vain.
class FakeCompiler {
 public:
  explicit FakeCompiler(const std::string& script) : variable_("CXX", (directory_.path() / "cxx").string()) {
    std::ofstream(directory_.path() / "cxx") << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(directory_.path() / "cxx", std::filesystem::perms::owner_all);
  }

 private:
  TemporaryDirectory directory_;
  ScopedEnvironment variable_;
};

// The user's to mend: what was found and what to do, in one line.
void expect_machine_fault(const std::string& script, const std::vector<std::string>& parts) {
  const FakeCompiler compiler(script);
  try {
    HostKernel::compile("int of_" + std::to_string(script.size()) + ";", "x");
    ADD_FAILURE() << script;
  } catch (const UserError& error) {
    const std::string what = error.what();
    for (const std::string& part : parts) EXPECT_THAT(what, ::testing::HasSubstr(part));
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

TEST(HostJit, ACompilerThatTheMachineStopsIsNoFaultOfAKernel) {
  expect_machine_fault("kill -9 $$", {"signal 9 (Killed) ended the compiler", "free memory"});
  expect_machine_fault("sh -c 'kill -15 $$'; exit $?", {"signal 15 (Terminated)"});
  expect_machine_fault("echo 'c++: fatal error: Killed signal terminated program cc1plus'; exit 1",
                       {"c++: fatal error: Killed signal terminated program cc1plus", "free memory"});
  expect_machine_fault("echo 'cc1plus: out of memory allocating 65536 bytes after a total of 9 bytes'; exit 1",
                       {"out of memory allocating", "raise the limit"});
  expect_machine_fault("echo '/usr/bin/ld: final link failed: No space left on device'; exit 1",
                       {"No space left on device", "free space", "TMPDIR"});
}

TEST(HostJit, ACompilerThatFallsIsShownItsText) {
  const FakeCompiler compiler("case $(cat \"$(eval echo \\${$#})\") in *fall*) kill -11 $$;; esac\nexit 0");
  expect_error<InternalError>([] { HostKernel::compile("int fall;", "x"); },
                              {"ended by signal 11", "    1 | int fall;"});
}

TEST(HostJit, CompilesWhereChildrenAreIgnored) {
  auto* const before = ::signal(SIGCHLD, SIG_IGN);
  EXPECT_NO_THROW(HostKernel::compile("extern \"C\" int g(const void*, void*) { return 0; }\n", "g").run(nullptr, 0));
  expect_error<InternalError>([] { HostKernel::compile("int worse = missing;\n", "x"); }, {"    1 | int worse"});
  ::signal(SIGCHLD, before);
}

TEST(HostJit, LeavesNoFilesBesideDebuggingOnes) {
  const auto files_after = [](const char* flags) {
    const TemporaryDirectory folder;
    const ScopedEnvironment directory("TMPDIR", folder.path().string()), variable("WKVC_HOST_CXXFLAGS", flags);
    HostKernel::compile("extern \"C\" int h(const void*, void*) { return 0; }\n", "h").run(nullptr, 0);
    return !std::filesystem::is_empty(folder.path());
  };
  EXPECT_FALSE(files_after("-O0"));
  EXPECT_TRUE(files_after("-O0 -g1"));
}

TEST(HostJit, AFolderWithoutProgramsIsSaidBeforeCompiling) {
  constexpr int not_permitted = 77;
  const TemporaryDirectory folder;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.path().c_str(), "tmpfs", MS_NOEXEC, "size=8m,mode=700") != 0) {
      ::_exit(not_permitted);
    }
    const ScopedEnvironment directory("TMPDIR", folder.path().string()), no_compiler("CXX", "/nowhere/cxx");
    expect_error([] { HostKernel::compile("int k;", "k"); },
                 {folder.path().string() + " is on a file system that is mounted noexec", "set TMPDIR"});
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_permitted) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(status, 0);
}

// Nor is a compiler missing that gets no process.
TEST(HostJit, NoProcessForTheCompilerIsSaid) {
  const ScopedEnvironment no_compiler("CXX", "");
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    constexpr uid_t nobody = 65534;
    const bool limited = ::setrlimit(RLIMIT_NPROC, &none) == 0 && (::geteuid() != 0 || ::setuid(nobody) == 0);
    if (!limited) ::_exit(1);
    expect_error([] { HostKernel::compile("int p;", "p"); },
                 {"cannot start c++", "Resource temporarily unavailable", "limit of processes"});
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Two stacks of 64 TiB: more than there are addresses.
TEST(HostJit, AWarpThatGetsNoStackIsNoFaultOfAKernel) {
  const HostKernel kernel =
      HostKernel::compile("#include \"wkvc/tile.h\"\nWKVC_KERNEL(starved, 1, 2, 1) {}\n", "starved");
  const Args args{.tokens = 1};
  kernel.run(&args, 128);
  pthread_attr_t usual{}, huge{};
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ::pthread_attr_init(&huge);
  ::pthread_attr_setstacksize(&huge, std::size_t{1} << 46U);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  expect_error([&] { kernel.run(&args, 128); }, {"starved", "takes a stack", "free memory"});
  EXPECT_EQ(::pthread_setattr_default_np(&usual), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end a program that asks for so much
  expect_error([&] { kernel.run(&args, std::int64_t{1} << 46U); }, {"starved", "bad_alloc", "free memory"});
#endif
}

}  // namespace
}  // namespace wkvc
