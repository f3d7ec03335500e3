// One test a mistake: what a launch refuses, and what it makes of what it takes.
#include <cstring>
#include <limits>

#include "runtime/launch_arguments.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_kernel.h"

namespace wkvc {
namespace {

enum Index { x, s, o, initial_state, final_state };

class Launch : public ::testing::Test {
 protected:
  static constexpr LaunchSize size{2, 3, 4};

  void check() const { check_launch(manifest, tensors, given); }
  void refused(const std::vector<std::string>& parts) const {
    expect_error([&] { check(); }, parts);
  }
  TensorArg argument(Index i) const {
    const LaunchArguments arguments(manifest, tensors, given);
    TensorArg arg{};
    std::memcpy(&arg, arguments.bytes().data() + offsetof(KernelArgs<1>, tensor) + i * sizeof(TensorArg), sizeof(arg));
    return arg;
  }

  Manifest manifest = manifest_from(tiny_kernel());
  LaunchSize given = size;
  HostTensor memory_x{DType::f32, {2, 3, 4, 8}}, memory_s{DType::f32, {4, 8}}, memory_o{DType::f32, {2, 3, 4, 8}},
      memory_initial{DType::f32, {2, 4, 8, 8}}, memory_final{DType::f32, {2, 4, 8, 8}};
  std::vector<Tensor> tensors{memory_x.view(), memory_s.view(), memory_o.view(), memory_initial.view(),
                              memory_final.view()};
};

TEST_F(Launch, TakesWhatTheManifestSays) { EXPECT_NO_THROW(check()); }

TEST_F(Launch, NegativeSize) {
  given.tokens = -1;
  refused({"T = -1", "negative"});
}

TEST_F(Launch, TooManyBlocks) {
  given = {std::int64_t{1} << 20, 1, std::int64_t{1} << 12};
  refused({"B·H", "1048576", "2^31-1"});
  given = {std::numeric_limits<std::int64_t>::max(), 1, 4};
  refused({"B·H"});
}

TEST_F(Launch, WrongNumberOfTensors) {
  tensors.pop_back();
  refused({"4 tensors", "expected 5", "x, s, o, initial_state, final_state"});
}

TEST_F(Launch, WrongDtype) {
  tensors[x].dtype = DType::bf16;
  refused({"\"x\" is bf16", "compiled for f32"});
}

TEST_F(Launch, WrongRank) {
  tensors[s].shape = {4};
  tensors[s].strides = {1};
  refused({"\"s\"", "[4]", "expected [H, K] = [4, 8]"});
}

TEST_F(Launch, WrongLength) {
  given.tokens = 5;
  refused({"\"x\"", "[2, 3, 4, 8]", "[B, T, H, K] = [2, 5, 4, 8]"});
}

TEST_F(Launch, WrongHeadSize) {
  tensors[final_state].shape[3] = 16;
  refused({"\"final_state\"", "[2, 4, 8, 16]", "[2, 4, 8, 8]"});
}

TEST_F(Launch, MissingStrides) {
  tensors[x].strides.pop_back();
  refused({"\"x\" has 3 strides", "4 dimensions"});
}

TEST_F(Launch, LastDimensionNotContiguous) {
  tensors[x].strides[3] = 2;
  refused({"\"x\"", "last dimension", "contiguous"});
}

TEST_F(Launch, NegativeStride) {
  tensors[x].strides[1] = -32;
  refused({"\"x\"", "-32", "negative strides"});
}

TEST_F(Launch, StridesBeyondMemory) {
  tensors[x].strides[0] = std::numeric_limits<std::int64_t>::max() / 2;
  refused({"\"x\"", "63 bits"});
}

TEST_F(Launch, NullInput) {
  tensors[x].data = nullptr;
  refused({"\"x\" is null", "can be left out"});
}

TEST_F(Launch, NullOutput) {
  tensors[o] = Tensor{};
  refused({"\"o\""});
}

TEST_F(Launch, MisalignedPointer) {
  tensors[x].data = static_cast<char*>(tensors[x].data) + 2;
  refused({"\"x\"", "not aligned", "4-byte"});
}

TEST_F(Launch, BroadcastOutput) {
  tensors[o].strides[1] = 0;
  refused({"\"o\" is written", "share memory"});
}

TEST_F(Launch, OverlappingOutputRows) {
  tensors[o].strides[2] = 4;
  refused({"\"o\" is written", "share memory"});
}

TEST_F(Launch, OutputOnTopOfAnInput) {
  tensors[o].data = tensors[x].data;
  refused({"\"o\" and \"x\"", "same address"});
}

TEST_F(Launch, StateInPlaceWithOtherStrides) {
  tensors[final_state].data = tensors[initial_state].data;
  tensors[final_state].strides = {256, 8, 32, 1};
  refused({"\"final_state\" and \"initial_state\""});
}

TEST_F(Launch, StateInPlaceIsFine) {
  tensors[final_state].data = tensors[initial_state].data;
  EXPECT_NO_THROW(check());
}

TEST_F(Launch, AbsentStatesAreFine) {
  tensors[initial_state] = tensors[final_state] = Tensor{};
  EXPECT_NO_THROW(check());
  EXPECT_EQ(argument(initial_state).data, nullptr);
}

TEST_F(Launch, BroadcastInputIsFine) {
  tensors[x].strides = {0, 0, 0, 1};
  EXPECT_NO_THROW(check());
}

TEST_F(Launch, ArgumentsBeginWithTheSizes) {
  const LaunchArguments arguments(manifest, tensors, given);
  long long sizes[3];
  ASSERT_EQ(arguments.bytes().size(), sizeof(KernelArgs<5>));
  std::memcpy(sizes, arguments.bytes().data(), sizeof(sizes));
  EXPECT_EQ(sizes[0], 2);
  EXPECT_EQ(sizes[1], 3);
  EXPECT_EQ(sizes[2], 4);
}

TEST_F(Launch, TokensStrideOverBatchRowAndHead) {
  tensors[x].strides = {96, 8, 24, 1};  // head first
  const TensorArg arg = argument(x);
  EXPECT_EQ(arg.data, tensors[x].data);
  EXPECT_EQ(arg.batch, 96);
  EXPECT_EQ(arg.row, 8);
  EXPECT_EQ(arg.head, 24);
  EXPECT_EQ(arg.vector16, 1);
}

TEST_F(Launch, StatesStrideOverBatchHeadAndRow) {
  const TensorArg arg = argument(final_state);
  EXPECT_EQ(arg.batch, 256);
  EXPECT_EQ(arg.head, 64);
  EXPECT_EQ(arg.row, 8);
}

TEST_F(Launch, ParametersStrideOverHeads) {
  const TensorArg arg = argument(s);
  EXPECT_EQ(arg.batch, 0);
  EXPECT_EQ(arg.row, 0);
  EXPECT_EQ(arg.head, 8);
}

TEST_F(Launch, ScalarsHaveOneElementARow) {
  manifest.tensors[x].dims = {"B", "T", "H"};
  tensors[x].shape = {2, 3, 4};
  tensors[x].strides = {1, 2, 16};
  EXPECT_NO_THROW(check());
  const TensorArg arg = argument(x);
  EXPECT_EQ(arg.batch, 1);
  EXPECT_EQ(arg.row, 2);
  EXPECT_EQ(arg.head, 16);
  EXPECT_EQ(arg.vector16, 0);
}

TEST_F(Launch, SavedStatesStrideOverRowsOfAllOfThem) {
  manifest.chunk = 2;
  manifest.saved_every = 1;
  manifest.tensors[x] = {"saved_states", Role::saved_states, DType::f32, {"B", "H", "N", "V", "K"}};
  HostTensor memory{DType::f32, {2, 4, 2, 8, 8}};
  tensors[x] = memory.view();
  EXPECT_NO_THROW(check());
  const TensorArg arg = argument(x);
  EXPECT_EQ(arg.batch, 512);
  EXPECT_EQ(arg.head, 128);
  EXPECT_EQ(arg.row, 8);
  EXPECT_EQ(arg.vector16, 1);
  tensors[x].strides = {512, 128, 72, 8, 1};
  refused({"\"saved_states\"", "[512, 128, 64, 8, 1]", "contiguous"});
}

TEST_F(Launch, WorkspacesStrideOverBatchAndHead) {
  manifest.tensors[x] = {"parts", Role::workspace, DType::f32, {"B", "H", "K"}};
  HostTensor memory{DType::f32, {2, 4, 8}};
  tensors[x] = memory.view();
  EXPECT_NO_THROW(check());
  const TensorArg arg = argument(x);
  EXPECT_EQ(arg.batch, 32);
  EXPECT_EQ(arg.head, 8);
  EXPECT_EQ(arg.row, 0);
  tensors[x].data = tensors[s].data;
  refused({"\"parts\" and \"s\"", "written"});
}

TEST_F(Launch, GradientsAreWritten) {
  for (const Role role : {Role::input_gradient, Role::parameter_gradient, Role::initial_state_gradient}) {
    manifest.tensors[o].role = role;
    tensors[o].strides = {96, 0, 24, 1};
    refused({"\"o\" is written"});
  }
  manifest.tensors[o].role = Role::output_gradient;
  EXPECT_NO_THROW(check());
  tensors[o].data = nullptr;
  refused({"\"o\" is null"});
  manifest.tensors[final_state].role = Role::initial_state_gradient;
  manifest.tensors[initial_state].role = Role::final_state_gradient;
  tensors[o] = memory_o.view();
  tensors[initial_state] = tensors[final_state] = Tensor{};
  EXPECT_NO_THROW(check());
}

TEST_F(Launch, StridesOfSingleElementsDoNotMatter) {
  tensors[x].shape[0] = 1;
  tensors[x].strides[0] = -7;
  given.batches = 1;
  for (const Index i : {o, initial_state, final_state}) tensors[i].shape[0] = 1;
  EXPECT_NO_THROW(check());
  EXPECT_EQ(argument(x).batch, 0);
  EXPECT_EQ(argument(x).vector16, 1);
}

TEST_F(Launch, Vector16NeedsEveryStrideAndTheAddress) {
  tensors[x].strides[1] = 34;
  EXPECT_EQ(argument(x).vector16, 0);
  tensors[x].strides[1] = 36;
  EXPECT_EQ(argument(x).vector16, 1);
  tensors[x].data = static_cast<float*>(tensors[x].data) + 1;
  EXPECT_EQ(argument(x).vector16, 0);
}

TEST_F(Launch, SizesFollowFromShapes) {
  const LaunchSize found = size_from(manifest, {{"x", {2, 3, 4, 8}}, {"unrelated", {1}}});
  EXPECT_EQ(found.batches, 2);
  EXPECT_EQ(found.tokens, 3);
  EXPECT_EQ(found.heads, 4);
  EXPECT_EQ(shape_of(manifest.tensors[final_state], manifest, found), (std::vector<std::int64_t>{2, 4, 8, 8}));
}

TEST_F(Launch, SizesThatDisagreeNameBothTensors) {
  expect_error([&] { size_from(manifest, {{"x", {2, 3, 4, 8}}, {"s", {5, 8}}}); },
               {"\"s\"", "H is 5", "4 in tensor \"x\""});
  expect_error([&] { size_from(manifest, {{"s", {5, 8}}}); }, {"B follows from none"});
  expect_error([&] { size_from(manifest, {{"x", {5, 8}}}); }, {"\"x\"", "[5, 8]", "[B, T, H, K]"});
}

}  // namespace
}  // namespace wkvc
