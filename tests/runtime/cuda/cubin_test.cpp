#include "runtime/cuda/cubin.h"

#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

constexpr const char* log = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'spill' for 'sm_90a'
ptxas info    : Function properties for spill
ptxas         .     880 bytes stack frame, 948 bytes spill stores, 1332 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 880 bytes cumulative stack size
ptxas info    : Compiling entry function 'kern' for 'sm_90a'
ptxas info    : Function properties for kern
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 56 registers, used 1 barriers, 512 bytes smem
)";

TEST(CubinUsages, AreReadPerKernel) {
  const CubinUsage spill = usage_from(log, "spill");
  EXPECT_EQ(spill.registers, 32);
  EXPECT_EQ(spill.stack_bytes, 880);
  EXPECT_EQ(spill.spill_stores, 948);
  EXPECT_EQ(spill.spill_loads, 1332);
  EXPECT_EQ(spill.static_shared, 0);
  const CubinUsage kern = usage_from(log, "kern");
  EXPECT_EQ(kern.registers, 56);
  EXPECT_EQ(kern.spill_stores, 0);
  EXPECT_EQ(kern.static_shared, 512);
}

TEST(CubinUsages, MissingReportsAreFaults) {
  expect_error<InternalError>([] { usage_from(log, "other"); }, {"no report of kernel other"});
  expect_error<InternalError>([] { usage_from("Compiling entry function 'x' for", "x"); }, {"lacks", "registers"});
}

}  // namespace
}  // namespace wkvc
