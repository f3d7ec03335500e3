#include "runtime/nvrtc/nvrtc.h"

#include "runtime/cuda/cubin.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_kernel.h"
#include "tests/runtime/tiny_program.h"

namespace wkvc {
namespace {

class Nvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    if (!nvrtc_available(&why_not)) GTEST_SKIP() << why_not;
  }
};

TEST_F(Nvrtc, CompilesAKernelThatIncludesTheTemplates) {
  const CubinResult result = compile_cubin(tiny_kernel(), "sm_90a");
  ASSERT_GT(result.cubin.size(), 4U);
  EXPECT_EQ(std::string(result.cubin.data(), 4),
            "\x7f"
            "ELF");
  const CubinUsage usage = usage_from(result.log, "tiny");
  EXPECT_GE(usage.registers, 8);
  EXPECT_LE(usage.registers, 255);
  EXPECT_EQ(usage.spill_stores, 0);
}

TEST_F(Nvrtc, ReportsSpillsAndSharedMemory) {
  const CubinResult result = compile_cubin(R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spill(float* p) {
  __shared__ float shared[64];
  float a[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) a[i] = p[i * 32];
  shared[threadIdx.x % 64] = a[5];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i) p[i] = a[i] * a[(i * 7) % 96] + shared[i % 64];
})",
                                           "sm_90a", {.line_info = true});
  const CubinUsage usage = usage_from(result.log, "spill");
  EXPECT_EQ(usage.registers, 32);
  EXPECT_GT(usage.spill_stores, 0);
  EXPECT_GT(usage.stack_bytes, 0);
  EXPECT_EQ(usage.static_shared, 256);
}

TEST_F(Nvrtc, CompilesSeveralKernelsOfOneText) {
  const CubinResult result = compile_cubin(tiny_program(), "sm_90a");
  for (const char* kernel : {"tiny_forward", "tiny_backward", "tiny_sum"}) {
    EXPECT_GT(usage_from(result.log, kernel).registers, 0) << kernel;
  }
}

TEST_F(Nvrtc, GivesPtx) {
  const std::string ptx = compile_ptx(tiny_kernel(), "sm_90a");
  EXPECT_THAT(ptx, ::testing::HasSubstr(".entry tiny"));
  EXPECT_THAT(ptx, ::testing::HasSubstr(".target sm_90a"));
  EXPECT_EQ(ptx.find('\0'), std::string::npos);
}

TEST_F(Nvrtc, ShowsLogAndNumberedSourceTogether) {
  expect_error<InternalError>([] { compile_cubin("int ok;\nint wrong = missing;\n", "sm_90a"); },
                              {"sm_90a", "\"missing\" is undefined", "kernel.cu(2)", "    2 | int wrong = missing;"});
}

TEST_F(Nvrtc, RefusesArchitecturesItDoesNotKnow) {
  expect_error([] { compile_cubin("", "sm_11"); }, {"sm_11", "it knows", "sm_90"});
  expect_error([] { compile_cubin("", "gfx90a"); }, {"gfx90a", "sm_90a"});
  expect_error([] { compile_cubin("", "sm_90a -x"); }, {"sm_90a -x"});
  expect_error([] { compile_ptx("", "sm_"); }, {"\"sm_\""});
}

}  // namespace
}  // namespace wkvc
