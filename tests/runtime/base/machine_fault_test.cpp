#include "runtime/base/machine_fault.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace wkvc {
namespace {

// Output of gcc, clang, linkers, NVRTC and ptxas.
TEST(MachineFault, IsFoundInWhatCompilersPrint) {
  const std::vector<std::pair<const char*, const char*>> outputs{
      {"c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n", "free memory"},
      {"\ncc1plus: out of memory allocating 65536 bytes after a total of 405504 bytes\n", "free memory"},
      {"virtual memory exhausted: Cannot allocate memory\n", "free memory"},
      {"/tmp/x/kernel.cpp:9:1: fatal error: error writing to /tmp/ccA.s: No space left on device\n", "free space"},
      {"/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld returned 1\n", "free space"},
      {"error: unable to open output file 'kernel.o': 'No space left on device'\n", "free space"},
      {"LLVM ERROR: IO failure on output stream: No space left on device\n", "free space"},
      {"collect2: fatal error: ld terminated with signal 7 [Bus error], core dumped\n", "free space"},
      {"collect2: fatal error: ld terminated with signal 9 [Killed]\n", "free memory"},
      {"c++: fatal error: File size limit exceeded signal terminated program as\n", "ulimit -f"},
      {"clang: error: unable to execute command: Killed\n", "free memory"},
      {"c++: fatal error: cannot execute 'cc1plus': vfork: Resource temporarily unavailable\n", "ulimit -u"},
      {"terminate called after throwing an instance of 'std::bad_alloc'\n", "free memory"},
      {"wkvc/cuda/strips.h(246): catastrophic error: out of memory\n\n1 catastrophic error detected\n", "free memory"},
      {"ptxas fatal   : Memory allocation failure\n", "free memory"},
      {"warning: unused\nas: out.o: Too many open files", "ulimit -n"},
  };
  for (const auto& [output, remedy] : outputs) {
    const auto fault = machine_fault_in(output);
    ASSERT_TRUE(fault) << output;
    EXPECT_TRUE(fault->remedy.starts_with(remedy) || fault->remedy.find(remedy) != std::string_view::npos) << output;
    EXPECT_NE(std::string_view(output).find(fault->found), std::string_view::npos);
    EXPECT_EQ(fault->found.find('\n'), std::string::npos);
  }
}

TEST(MachineFault, ErrorsAboutATextAreNone) {
  for (const char* output : {
           "",
           "kernel.cpp:2:13: error: 'missing' was not declared in this scope\n    2 | int wrong = missing;\n",
           "kernel.cpp:1:2: error: #error No space left on device\n    1 | #error No space left on device\n",
           "kernel.cpp:1:15: error: static assertion failed: out of memory\n",
           "kernel.cpp:1:1: internal compiler error: Segmentation fault\n",
           "c++: fatal error: Segmentation fault signal terminated program cc1plus\n",
           "kernel.cpp:3:5: error: 'Killed' was not declared in this scope; did you mean 'Kill'?\n",
       }) {
    EXPECT_FALSE(machine_fault_in(output)) << output;
  }
}

}  // namespace
}  // namespace wkvc
