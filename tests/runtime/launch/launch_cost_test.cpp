// What a launch costs the host up to the kernel itself: no allocation, and how many nanoseconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>

#include "runtime/launch/internals.h"
#include "runtime/program.h"
#include "tests/runtime/counted_new.h"
#include "tests/runtime/tiny_kernel.h"
#include "tests/runtime/tiny_program.h"

namespace wkvc {
namespace {

constexpr LaunchSize size{2, 32, 3};

std::string joined(const std::vector<std::string>& tensors) {
  std::string text;
  for (const std::string& tensor : tensors) text += (text.empty() ? "" : ",") + tensor;
  return text;
}

std::vector<std::string> tokens(const std::vector<std::string>& names, const std::string& role) {
  std::vector<std::string> tensors;
  for (const std::string& name : names) tensors.push_back(tensor_json(name, role, R"("B","T","H","K")"));
  return tensors;
}

std::string state(const std::string& name, const std::string& role) {
  return tensor_json(name, role, R"("B","H","V","K")");
}

std::string saved_states() { return tensor_json("saved_states", "saved_states", R"("B","H","N","V","K")"); }

std::string kernel_that_does_nothing(const std::string& name) {
  return "extern \"C\" int " + name + "(const void*, void*) { return 0; }\n";
}

std::vector<std::string> forward_tensors() {
  std::vector<std::string> tensors = tokens({"r", "w", "k", "a", "b", "v"}, "input");
  tensors.push_back(state("initial_state", "initial_state"));
  tensors.push_back(tokens({"o"}, "output").front());
  tensors.push_back(state("final_state", "final_state"));
  return tensors;
}

// What RWKV-7 is launched with: 9 tensors.
std::string forward() {
  return program_line("forward", "", joined(forward_tensors())) + kernel_that_does_nothing("forward");
}

// Its forward and backward pass: 20 tensors.
std::string both_passes() {
  std::vector<std::string> saving = forward_tensors();
  saving.push_back(saved_states());
  std::vector<std::string> backward = tokens({"r", "w", "k", "a", "b", "v"}, "input");
  for (const std::string& tensor : tokens({"dr", "dw", "dk", "da", "db", "dv"}, "input_gradient")) {
    backward.push_back(tensor);
  }
  backward.push_back(tokens({"do"}, "output_gradient").front());
  backward.push_back(state("dfinal_state", "final_state_gradient"));
  backward.push_back(state("dinitial_state", "initial_state_gradient"));
  backward.push_back(saved_states());
  backward.push_back(tensor_json("parts", "workspace", R"("B","H","K")"));
  return program_line("forward", R"(,"saved_every":2)", joined(saving)) +
         program_line("backward", R"(,"pass":"backward","saved_every":2)", joined(backward)) +
         kernel_that_does_nothing("forward") + kernel_that_does_nothing("backward");
}

// A program and everything it is launched with.
struct Launched {
  explicit Launched(const std::string& text, LaunchSize given = size)
      : program(Program::load(text, Target::host)), launch_size(given) {
    for (const TensorSpec& spec : program.manifest().tensors) {
      memory.emplace_back(spec.dtype, shape_of(spec, program.manifest(), launch_size));
    }
    for (HostTensor& tensor : memory) tensors.push_back(tensor.view());
  }

  // The gradients of all inputs become slices of one array [B, T, 6, H, K].
  void fuse_gradients() {
    memory.emplace_back(DType::f32, std::vector<std::int64_t>{size.batches, size.tokens, 6, size.heads, 8});
    auto* slice = static_cast<float*>(memory.back().view().data);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (program.manifest().tensors[i].role != Role::input_gradient) continue;
      tensors[i].data = slice;
      tensors[i].strides = {size.tokens * 6 * size.heads * 8, 6 * size.heads * 8, 8, 1};
      slice += size.heads * 8;
    }
  }

  void launch(Checks checks = Checks::layout) const { program.launch(tensors, launch_size, nullptr, checks); }

  Program program;
  LaunchSize launch_size;
  std::vector<HostTensor> memory;
  std::vector<Tensor> tensors;
};

long allocations_of(const Launched& launched, Checks checks = Checks::layout) {
  const long before = allocations();
  launched.launch(checks);
  return allocations() - before;
}

// Of one launch, in the best of many rounds: what others do on the machine does not count.
double nanoseconds_of(const Launched& launched) {
  constexpr int rounds = 200, launches = 50;
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) launched.launch();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / launches);
  }
  return best;
}

TEST(LaunchCost, AllocationsAreCounted) {
  const long before = allocations();
  ::operator delete(::operator new(8));
  EXPECT_EQ(allocations() - before, 1);
  const Launched launched(forward());
  EXPECT_GT(allocations() - before, 10);
}

TEST(LaunchCost, NothingIsAllocated) {
  for (const std::string& text : {tiny_kernel(), tiny_program(), forward(), both_passes()}) {
    const Launched launched(text);
    EXPECT_EQ(allocations_of(launched), 0) << text;
    EXPECT_EQ(allocations_of(launched, Checks::memory), 0) << text;
  }
}

TEST(LaunchCost, NothingIsAllocatedWithoutTokensBatchesOrHeads) {
  for (const LaunchSize& empty : {LaunchSize{2, 0, 3}, LaunchSize{0, 5, 3}, LaunchSize{2, 5, 0}, LaunchSize{0, 0, 0}}) {
    EXPECT_EQ(allocations_of(Launched(tiny_program(), empty)), 0);
  }
  Launched strided(tiny_kernel(), {2, 0, 3});
  strided.tensors[4].strides = {64, 128, 8, 1};  // the final state, heads outermost
  EXPECT_EQ(allocations_of(strided), 0);
}

TEST(LaunchCost, NothingIsAllocatedForSlicesOfOneTensor) {
  Launched launched(both_passes());
  launched.fuse_gradients();
  EXPECT_EQ(allocations_of(launched), 0);
}

TEST(LaunchCost, OneKernelAllocatesNothing) {
  const Launched launched(forward());
  const Kernel& kernel = launched.program.kernels().front();
  const long before = allocations();
  kernel.launch(launched.tensors, size);
  EXPECT_EQ(allocations(), before);
}

// The bound is far above what even sanitizers make of it: it is there for checks that grow with sizes.
TEST(LaunchCost, IsReported) {
  const auto report = [](const char* what, const char* key, const Launched& launched) {
    const double time = nanoseconds_of(launched);
    std::printf("%-46s %6.0f ns a launch\n", what, time);
    ::testing::Test::RecordProperty(key, static_cast<int>(time));
    EXPECT_LT(time, 10'000'000);
  };
  Launched training(both_passes());
  ASSERT_EQ(training.tensors.size(), 20U);
  report("one kernel of 9 tensors", "forward_ns", Launched(forward()));
  report("two kernels, 20 tensors in all", "both_passes_ns", training);
  training.fuse_gradients();
  report("two kernels, gradients slices of one tensor", "fused_ns", training);
}

}  // namespace
}  // namespace wkvc
