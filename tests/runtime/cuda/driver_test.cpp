// What is asked of the CUDA driver in a launch, and what is made of its answers: with a driver that does nothing.
#include "runtime/cuda/driver.h"

#include <array>
#include <cstring>
#include <string_view>

#include "runtime/base/dynamic_library.h"
#include "runtime/cuda/memory_check.h"
#include "runtime/program.h"
#include "tests/runtime/counted_new.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_kernel.h"

namespace wkvc {
namespace {

// ptxas' report of tiny_kernel().
constexpr std::string_view tiny_log =
    "ptxas info    : Compiling entry function 'tiny' for 'sm_90a'\n"
    "ptxas info    : Function properties for tiny\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers\n";

// Opened before the runtime looks for a driver, which then finds this one by its name.
struct FakeDriver {
  FakeDriver() {
    std::string why_not;
    library = DynamicLibrary::open(WKVC_FAKE_DRIVER, &why_not);
    if (!library) user_error("{}", why_not);
    library.find("fake_take_calls", take_calls);
    library.find("fake_memory", memory);
    library.find("fake_pageable_access", pageable_access);
    library.find("fake_launched", launched);
    library.find("fake_launched_early", launched_early);
    library.find("fake_parameter", parameter);
  }

  DynamicLibrary library;
  void (*take_calls)(char* taken, std::size_t bytes) = nullptr;
  void (*memory)(unsigned type, int mapped, int managed, int device) = nullptr;
  void (*pageable_access)(int access) = nullptr;
  char (*launched)() = nullptr;               // the first byte of the cubin whose kernel ran last
  int (*launched_early)() = nullptr;          // whether that one may start before the kernel before it has ended
  const std::byte* (*parameter)() = nullptr;  // of that one
};

class Driver : public ::testing::Test {
 protected:
  static const FakeDriver& fake() {
    static const FakeDriver driver;
    return driver;
  }

  Driver() { fake().pageable_access(0); }

  static std::string calls() {
    std::array<char, 4096> taken{};
    fake().take_calls(taken.data(), taken.size());
    return taken.data();
  }

  static constexpr unsigned nothing = 0, host = 1, device = 2;  // types of memory
};

TEST_F(Driver, ALaunchNeitherAllocatesNorWaits) {
  const Device gpu = Device::open(0);
  const DeviceKernel kernel(gpu, std::array<char, 4>{}, "kernel", 1024);
  const std::array<std::byte, 640> arguments{};
  calls();
  const long before = allocations();
  kernel.launch(1, 32, arguments, nullptr);
  const long after = allocations();
  EXPECT_EQ(after, before);
  EXPECT_EQ(calls(), "cuCtxPushCurrent_v2 cuLaunchKernelEx cuCtxPopCurrent_v2 ");
}

TEST_F(Driver, ACubinThatIsTooNewIsTheUsersMistake) {
  const Device gpu = Device::open(0);
  expect_error([&] { DeviceKernel(gpu, std::array<char, 4>{'n'}, "kernel", 1024); },
               {"load the kernel's cubin", "a CUDA newer than the driver's, 13.0", "WKVC_NVRTC"});
}

// Kernels of templates wait by themselves. Others might not.
TEST_F(Driver, OnlyKernelsThatWaitStartEarly) {
  const std::array<char, 4> cubin{'a'};
  const auto starts_early = [&](const std::string& text) {
    const Program program = Program::load({text, cubin, tiny_log, {}}, Target::cuda);
    HostTensor x(DType::f32, {1, 2, 1, 8}), s(DType::f32, {1, 8}), o(DType::f32, {1, 2, 1, 8});
    program.launch(std::vector<Tensor>{x.view(), s.view(), o.view(), Tensor{}, Tensor{}}, {1, 2, 1});
    return fake().launched_early() != 0;
  };
  EXPECT_FALSE(starts_early(tiny_kernel()));
  std::string waiting = tiny_kernel();
  const std::string warps = R"("warps":1)";
  waiting.replace(waiting.find(warps), warps.size(), warps + R"(,"waits":1)");
  expect_error([&] { starts_early(waiting); }, {"says that it waits", "WKVC_KERNEL(tiny", "take \"waits\" out"});
  EXPECT_TRUE(starts_early(waiting + "\n// WKVC_KERNEL(tiny, 5, 1, 1) {\n}\n"));
}

// One kernel for tensors that move in pieces of 16 bytes, and another one, once it is needed, for others.
TEST_F(Driver, LaunchesAKernelThatTensorsAreAlignedFor) {
  const std::array<char, 4> aligned{'a'}, general{'g'};
  const std::string text = tiny_kernel();
  const Program program = Program::load({text, aligned, tiny_log, general}, Target::cuda);
  const auto launch = [](const Program& with, std::int64_t row) {
    HostTensor x(DType::f32, {1, 2, 1, row}), s(DType::f32, {1, 8}), o(DType::f32, {1, 2, 1, row});
    const auto columns = [](const Tensor& whole) {
      Tensor part = whole;
      part.shape[3] = 8;
      return part;
    };
    with.launch(std::vector<Tensor>{columns(x.view()), s.view(), columns(o.view()), Tensor{}, Tensor{}}, {1, 2, 1});
    return fake().launched();
  };
  calls();
  EXPECT_EQ(launch(program, 8), 'a');
  EXPECT_EQ(calls(), "cuCtxPushCurrent_v2 cuLaunchKernelEx cuCtxPopCurrent_v2 ");
  EXPECT_EQ(launch(program, 9), 'g');
  EXPECT_THAT(calls(), ::testing::HasSubstr("cuModuleLoadData"));
  EXPECT_EQ(launch(program, 8), 'a');
  EXPECT_EQ(launch(program, 9), 'g');
  EXPECT_THAT(calls(), ::testing::Not(::testing::HasSubstr("cuModuleLoadData")));

  const Program packed_before = Program::load({text, aligned, tiny_log, {}}, Target::cuda);
  EXPECT_EQ(launch(packed_before, 8), 'a');
  for (int i = 0; i < 2; ++i) expect_error([&] { launch(packed_before, 9); }, {"16 bytes", "pack them again"});
}

// Behind the arguments, and aligned as CUtensorMap is, comes a map of each tensor that a kernel copies as tiles.
TEST_F(Driver, MapsFollowTheArguments) {
  std::string text = tiny_kernel();
  const std::string warps = R"("warps":1)", rows = R"("chunk":1)";
  text.replace(text.find(warps), warps.size(), warps + R"(,"maps":["x","o"])");
  text.replace(text.find(rows), rows.size(), R"("chunk":64)");
  const Program program = Program::load({text, std::array<char, 4>{'a'}, tiny_log, {}}, Target::cuda);
  const auto launch = [&](std::int64_t row) {
    HostTensor x(DType::f32, {3, 2, 5, row}), s(DType::f32, {5, 8}), o(DType::f32, {3, 2, 5, 8});
    Tensor part = x.view();
    part.shape[3] = 8;
    program.launch(std::vector<Tensor>{part, s.view(), o.view(), Tensor{}, Tensor{}}, {3, 2, 5});
  };
  calls();
  launch(12);
  EXPECT_EQ(calls(),
            "cuCtxPushCurrent_v2 cuTensorMapEncodeTiled cuTensorMapEncodeTiled "
            "cuCtxPushCurrent_v2 cuLaunchKernelEx cuCtxPopCurrent_v2 cuCtxPopCurrent_v2 ");
  constexpr std::size_t begin = 384;  // of 96 and 5 times 48 bytes, a multiple of 64
  std::array<std::uint64_t, 12> x{}, o{};
  std::memcpy(x.data(), fake().parameter() + begin, sizeof x);
  std::memcpy(o.data(), fake().parameter() + begin + 128, sizeof o);
  EXPECT_THAT(x, ::testing::ElementsAre(7, 8, 5, 2, 3, 12 * 4, 12 * 4 * 5, 12 * 4 * 5 * 2, 32, 1, 64, 1));
  EXPECT_THAT(o, ::testing::ElementsAre(7, 8, 5, 2, 3, 8 * 4, 8 * 4 * 5, 8 * 4 * 5 * 2, 32, 1, 64, 1));
  expect_error([&] { launch(9); }, {"copies 'x' as tiles", "multiples of 16 bytes"});
}

// What launches without tokens are made of.
TEST_F(Driver, CopiesOnTheGpuDoNotWait) {
  const Device gpu = Device::open(0);
  calls();
  int memory = 0;
  gpu.copy(&memory, &memory, sizeof memory, nullptr);
  gpu.set_bytes(&memory, 0, sizeof memory, nullptr);
  EXPECT_EQ(calls(),
            "cuCtxPushCurrent_v2 cuMemcpyDtoDAsync_v2 cuCtxPopCurrent_v2 "
            "cuCtxPushCurrent_v2 cuMemsetD8Async cuCtxPopCurrent_v2 ");
}

TEST_F(Driver, TellsWhatMemoryAGpuReaches) {
  const Device gpu = Device::open(1);
  const int memory = 0;
  const auto why_not = [&](unsigned type, int mapped, int managed, int of) {
    fake().memory(type, mapped, managed, of);
    return gpu.why_unreachable(&memory);
  };
  EXPECT_EQ(why_not(device, 1, 0, 1), "");
  EXPECT_EQ(why_not(host, 1, 0, 0), "");    // pinned
  EXPECT_EQ(why_not(host, 0, 1, 0), "");    // managed, wherever it is now
  EXPECT_EQ(why_not(device, 0, 1, 0), "");  // managed
  EXPECT_THAT(why_not(device, 1, 0, 0), ::testing::HasSubstr("memory of GPU 0, but the kernel was loaded for GPU 1"));
  EXPECT_THAT(why_not(host, 0, 0, 1), ::testing::HasSubstr("no memory that GPU 1 reaches"));
  EXPECT_THAT(why_not(nothing, 0, 0, 0), ::testing::HasSubstr("copy it to the GPU"));
  fake().pageable_access(1);
  EXPECT_EQ(Device::open(1).why_unreachable(&memory), "");
}

class Reaching final : public Backend {
 public:
  void run(unsigned, std::span<const std::byte>, StreamHandle) const override {}
  void copy(void*, const void*, std::size_t, StreamHandle) const override {}
  void fill(void*, unsigned char, std::size_t, StreamHandle) const override {}
  std::string why_unreachable(const void* data) const override { return gpu_.why_unreachable(data); }
  CubinUsage usage() const override { return {}; }

 private:
  Device gpu_ = Device::open(0);
};

TEST_F(Driver, TensorsOutOfReachAreTheUsersError) {
  const LaunchPlan plan(manifest_from(tiny_kernel()));
  HostTensor x(DType::f32, {1, 2, 1, 8}), s(DType::f32, {1, 8});
  const std::vector<Tensor> tensors{x.view(), s.view(), x.view(), Tensor{}, Tensor{}};
  const Reaching backend;
  fake().memory(device, 1, 0, 0);
  EXPECT_NO_THROW(check_memory(backend, plan, tensors, {1, 2, 1}));
  fake().memory(device, 1, 0, 1);
  expect_error([&] { check_memory(backend, plan, tensors, {1, 2, 1}); },
               {"tensor \"x\" begins at 0x", "memory of GPU 1"});
  const Tensor without_tokens{x.view().data, DType::f32, {1, 0, 1, 8}, {8, 8, 8, 1}};
  const std::vector<Tensor> empty{without_tokens, without_tokens, without_tokens, Tensor{}, Tensor{}};
  EXPECT_NO_THROW(check_memory(backend, plan, empty, {1, 0, 1}));
}

}  // namespace
}  // namespace wkvc
