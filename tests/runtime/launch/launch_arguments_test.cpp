// What a launch makes of the tensors and sizes that it takes.
#include "tests/runtime/launch/launch_problem.h"

namespace wkvc {
namespace {

TEST_F(Launch, ArgumentsBeginWithTheSizes) {
  const LaunchArguments arguments(LaunchPlan(manifest), tensors, given);
  long long sizes[5];
  ASSERT_EQ(arguments.bytes().size(), sizeof(KernelArgs<5>));
  std::memcpy(sizes, arguments.bytes().data(), sizeof(sizes));
  EXPECT_EQ(sizes[0], 2);
  EXPECT_EQ(sizes[1], 3);
  EXPECT_EQ(sizes[2], 4);
  EXPECT_EQ(sizes[4], 1);
}

TEST_F(Launch, ArgumentsHoldTheSegments) {
  manifest.segments = 8;
  const LaunchArguments arguments(LaunchPlan(manifest), tensors, given);
  KernelArgs<1> args;
  std::memcpy(&args, arguments.bytes().data(), sizeof(args));
  EXPECT_EQ(args.segments, 8);
}

TEST_F(Launch, ArgumentsHoldTheStartsOfSequences) {
  const std::int64_t starts[] = {0, 1, 3};
  const LaunchSize packed{1, 3, 4, SequenceMap{2, starts, true}};
  const LaunchArguments arguments(LaunchPlan(manifest), tensors, packed);
  EXPECT_TRUE(maps_sequences(arguments.bytes()));
  KernelArgs<1> args;
  std::memcpy(&args, arguments.bytes().data(), sizeof(args));
  EXPECT_EQ(args.batches, 2);
  EXPECT_EQ(args.starts.data, starts);
  EXPECT_EQ(args.starts.wide, 1);
  EXPECT_FALSE(maps_sequences(LaunchArguments(LaunchPlan(manifest), tensors, given).bytes()));
}

TEST_F(Launch, TokensStrideOverBatchRowAndHead) {
  tensors[x].strides = {96, 8, 24, 1};  // head first
  const TensorArg arg = argument(x);
  EXPECT_EQ(arg.data, tensors[x].data);
  EXPECT_EQ(arg.batch, 96);
  EXPECT_EQ(arg.row, 8);
  EXPECT_EQ(arg.head, 24);
  EXPECT_EQ(arg.flags, 1);
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
  EXPECT_EQ(arg.flags, 0);
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
  EXPECT_EQ(arg.flags, 1);
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

TEST_F(Launch, StridesOfSingleElementsDoNotMatter) {
  tensors[x].shape[0] = 1;
  tensors[x].strides[0] = -7;
  given.batches = 1;
  for (const Index i : {o, initial_state, final_state}) tensors[i].shape[0] = 1;
  EXPECT_NO_THROW(check());
  EXPECT_EQ(argument(x).batch, 0);
  EXPECT_EQ(argument(x).flags, 1);
}

TEST_F(Launch, Vector16NeedsEveryStrideAndTheAddress) {
  tensors[x].strides[1] = 34;
  EXPECT_EQ(argument(x).flags, 0);
  tensors[x].strides[1] = 36;
  EXPECT_EQ(argument(x).flags, 1);
  tensors[x].data = static_cast<float*>(tensors[x].data) + 1;
  EXPECT_EQ(argument(x).flags, 0);
}

TEST_F(Launch, SizesFollowFromShapes) {
  const LaunchSize found = size_from(manifest, {{"x", {2, 3, 4, 8}}, {"unrelated", {1}}});
  EXPECT_EQ(found.batches, 2);
  EXPECT_EQ(found.tokens, 3);
  EXPECT_EQ(found.heads, 4);
  EXPECT_EQ(shape_of(manifest.tensors[final_state], manifest, found), (std::vector<std::int64_t>{2, 4, 8, 8}));
}

TEST_F(Launch, SharedHeadsAreAGroupsOwn) {
  manifest.tensors[x].dims = {"B", "T", "S", "K"};
  HostTensor memory{DType::f32, {2, 3, 2, 8}};
  tensors[x] = memory.view();
  given.shared_heads = 2;
  EXPECT_NO_THROW(check());
  EXPECT_EQ(argument(x).flags, kVector16 | kShared);
  EXPECT_EQ(argument(x).head, 8);
  EXPECT_EQ(argument(o).flags, kVector16);
  const LaunchArguments arguments(LaunchPlan(manifest), tensors, given);
  EXPECT_TRUE(maps_sequences(arguments.bytes()));
  KernelArgs<1> args;
  std::memcpy(&args, arguments.bytes().data(), sizeof(args));
  EXPECT_EQ(args.group, 2);
  const LaunchSize found = size_from(manifest, {{"x", {2, 3, 2, 8}}, {"s", {4, 8}}});
  EXPECT_EQ(found.heads, 4);
  EXPECT_EQ(found.shared_heads, 2);
  expect_error([&] { size_from(manifest, {{"x", {2, 3, 3, 8}}, {"s", {4, 8}}}); }, {"H = 4 and S = 3", "divide"});
  given.shared_heads = 0;
  refused({"\"x\"", "[2, 3, 2, 8]", "[B, T, S, K] = [2, 3, 4, 8]"});
}

TEST_F(Launch, SharedHeadsHaveToFit) {
  given.shared_heads = 3;
  refused({"H = 4 and S = 3"});
  given.shared_heads = -2;
  refused({"H = 4 and S = -2"});
  given.shared_heads = 2;
  refused({"S = 2 of H = 4", "--shared NAMES"});
}

TEST_F(Launch, ReportsAreAligned) {
  alignas(8) char memory[16];
  given.report = reinterpret_cast<SequenceReport*>(memory + 4);
  EXPECT_NO_THROW(check());
  given.report = reinterpret_cast<SequenceReport*>(memory + 2);
  refused({"report", "not aligned"});
}

TEST_F(Launch, SizesThatDisagreeNameBothTensors) {
  expect_error([&] { size_from(manifest, {{"x", {2, 3, 4, 8}}, {"s", {5, 8}}}); },
               {"\"s\"", "H is 5", "4 in tensor \"x\""});
  expect_error([&] { size_from(manifest, {{"s", {5, 8}}}); }, {"B follows from none"});
  expect_error([&] { size_from(manifest, {{"x", {5, 8}}}); }, {"\"x\"", "[5, 8]", "[B, T, H, K]"});
}

}  // namespace
}  // namespace wkvc
