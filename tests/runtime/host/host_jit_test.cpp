#include "runtime/host/host_jit.h"

#include <chrono>
#include <cstdlib>

#include "tests/runtime/expect_error.h"

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

class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~ScopedEnvironment() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
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
                          {"names the kernel thrice", "no WKVC_KERNEL(thrice"});
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

}  // namespace
}  // namespace wkvc
