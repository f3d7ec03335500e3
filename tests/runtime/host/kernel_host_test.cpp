#include <cmath>

#include "runtime/launch/kernel.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_kernel.h"

namespace wkvc {
namespace {

struct Problem {
  explicit Problem(LaunchSize given)
      : size(given),
        x(DType::f32, {size.batches, size.tokens, size.heads, 8}),
        s(DType::f32, {size.heads, 8}),
        o(DType::f32, x.shape()),
        initial(DType::f32, {size.batches, size.heads, 8, 8}),
        last(DType::f32, initial.shape()) {
    for (std::size_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i));
    for (std::size_t i = 0; i < s.size(); ++i) s.set(i, 1000.0 * static_cast<double>(i));
    for (std::size_t i = 0; i < initial.size(); ++i) initial.set(i, 0.5 * static_cast<double>(i));
    o.poison();
    last.poison();
  }
  std::vector<Tensor> tensors() { return {x.view(), s.view(), o.view(), initial.view(), last.view()}; }

  LaunchSize size;
  HostTensor x, s, o, initial, last;
};

Kernel tiny() { return Kernel::load(tiny_kernel(), Target::host); }

TEST(KernelOnHost, Runs) {
  Problem p({2, 3, 4});
  tiny().launch(p.tensors(), p.size);
  for (std::size_t i = 0; i < p.o.size(); ++i) EXPECT_EQ(p.o.get(i), p.x.get(i) + p.s.get(i % 32));
  for (std::size_t i = 0; i < p.last.size(); ++i) EXPECT_EQ(p.last.get(i), p.initial.get(i) + 3);
}

TEST(KernelOnHost, StartsFromZerosWithoutAnInitialState) {
  Problem p({1, 3, 1});
  std::vector<Tensor> tensors = p.tensors();
  tensors[3] = Tensor{};
  tiny().launch(tensors, p.size);
  for (std::size_t i = 0; i < p.last.size(); ++i) EXPECT_EQ(p.last.get(i), 3);
}

TEST(KernelOnHost, WithoutTokensTheStateIsCarriedOver) {
  Problem p({2, 0, 3});
  tiny().launch(p.tensors(), p.size);
  for (std::size_t i = 0; i < p.last.size(); ++i) EXPECT_EQ(p.last.get(i), p.initial.get(i));
}

TEST(KernelOnHost, WithoutTokensAStridedStateIsCarriedOver) {
  Problem p({2, 0, 3});
  std::vector<Tensor> tensors = p.tensors();
  tensors[4].strides = {64, 128, 8, 1};  // heads outermost
  tiny().launch(tensors, p.size);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t h = 0; h < 3; ++h) {
      for (std::size_t i = 0; i < 64; ++i) {
        EXPECT_EQ(p.last.get(b * 64 + h * 128 + i), p.initial.get((b * 3 + h) * 64 + i));
      }
    }
  }
}

TEST(KernelOnHost, WithoutTokensOrInitialStateTheStateIsZero) {
  Problem p({2, 0, 3});
  std::vector<Tensor> tensors = p.tensors();
  tensors[3] = Tensor{};
  tiny().launch(tensors, p.size);
  for (std::size_t i = 0; i < p.last.size(); ++i) EXPECT_EQ(p.last.get(i), 0);
}

TEST(KernelOnHost, WithoutTokensInPlaceOrUnaskedStatesAreLeftAlone) {
  Problem p({1, 0, 1});
  std::vector<Tensor> tensors = p.tensors();
  tensors[4] = tensors[3];
  tiny().launch(tensors, p.size);
  EXPECT_EQ(p.initial.get(5), 2.5);
  tensors[4] = Tensor{};
  tiny().launch(tensors, p.size);
  EXPECT_TRUE(std::isnan(p.last.get(0)));
}

TEST(KernelOnHost, EmptyBatchesAreFine) {
  Problem p({0, 3, 4});
  EXPECT_NO_THROW(tiny().launch(p.tensors(), p.size));
}

TEST(KernelOnHost, MistakesAreRefusedBeforeItRuns) {
  Problem p({2, 3, 4});
  std::vector<Tensor> tensors = p.tensors();
  tensors[1].dtype = DType::f16;
  expect_error([&] { tiny().launch(tensors, p.size); }, {"\"s\" is f16"});
  EXPECT_TRUE(std::isnan(p.o.get(0)));
}

TEST(KernelOnHost, FailuresOfTheKernelAreReported) {
  Problem p({1, 13, 1});
  expect_error<InternalError>([&] { tiny().launch(p.tensors(), p.size); }, {"the watchdog ended it at token 13"});
}

TEST(KernelOnHost, HasNoRegisters) {
  expect_error([] { tiny().registers(); }, {"cuda target"});
}

TEST(KernelOnHost, StatesThatDisagreeAreRefused) {
  std::string source = tiny_kernel();
  const std::string state = R"("role":"final_state","dtype":"f32")";
  source.replace(source.find(state), state.size(), R"("role":"final_state","dtype":"f16")");
  expect_error([&] { Kernel::load(source, Target::host); }, {"\"initial_state\" and \"final_state\"", "different"});
}

TEST(KernelOnCuda, WithoutAGpuSaysWhyNot) {
  std::string why_not;
  if (cuda_available(&why_not)) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_FALSE(why_not.empty());
  expect_error([] { Kernel::load(tiny_kernel(), Target::cuda); }, {"host target"});
}

}  // namespace
}  // namespace wkvc
