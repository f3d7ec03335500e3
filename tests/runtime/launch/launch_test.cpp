// One test a mistake: what a launch refuses.
#include <limits>

#include "tests/runtime/launch/launch_problem.h"

namespace wkvc {
namespace {

TEST_F(Launch, TakesWhatTheManifestSays) { EXPECT_NO_THROW(check()); }

TEST_F(Launch, NegativeSize) {
  given.tokens = -1;
  refused({"T = -1", "negative"});
}

TEST_F(Launch, TooManyTokens) {
  given.tokens = (std::int64_t{1} << 34) + 1;
  refused({"T = 17179869185", "17179869184", "split the sequence"});
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

TEST_F(Launch, TooHighARank) {
  expect_error([&] { tensors[x].shape = {1, 1, 1, 1, 1, 1, 1}; }, {"7 dimensions", "at most 6"});
  tensors[x].shape = {2, 3, 4, 8, 1, 1};
  refused({"\"x\" has shape [2, 3, 4, 8, 1, 1]", "[B, T, H, K]"});
}

TEST_F(Launch, TooManyTensors) {
  manifest.tensors.resize(LaunchPlan::max_tensors + 1, manifest.tensors.front());
  refused({"257 tensors", "at most 256"});
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

TEST_F(Launch, RowsTooFarApart) {
  tensors[x].strides[1] = 1 << 24;
  refused({"\"x\"", "neighbouring rows (T)", "16777215"});
}

TEST_F(Launch, AddressBeyondMemory) {
  tensors[x].data = reinterpret_cast<void*>(std::numeric_limits<std::uintptr_t>::max() - 31);
  refused({"\"x\"", "63 bits"});
}

TEST_F(Launch, NullInput) {
  tensors[x].data = nullptr;
  refused({"\"x\" is null", "can be left out"});
  tensors[x].dtype = DType::bf16;
  refused({"\"x\" is null"});
  tensors[x] = Tensor{nullptr, DType::f16, {}, {}};
  refused({"\"x\" is null"});
  given.tokens = 0;
  refused({"\"x\" is null"});
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

TEST_F(Launch, OutputOverAnInputInPart) {
  tensors[o].data = static_cast<float*>(tensors[x].data) + 32;
  refused({"\"o\" and \"x\" overlap in memory", "the first is written"});
  tensors[x].data = tensors[o].data;
  tensors[o].data = static_cast<float*>(tensors[x].data) - 32;
  refused({"\"o\" and \"x\" overlap in memory"});
}

TEST_F(Launch, OutputsOverEachOther) {
  tensors[o].data = static_cast<float*>(tensors[final_state].data) + 320;  // ends where that one does
  refused({"\"o\" and \"final_state\" overlap in memory"});
}

TEST_F(Launch, StatesOverEachOtherInPart) {
  HostTensor both{DType::f32, {2, 4, 8, 16}};
  tensors[initial_state].data = both.view().data;
  tensors[final_state].data = static_cast<float*>(tensors[initial_state].data) + 8;
  refused({"\"final_state\" and \"initial_state\" overlap in memory"});
}

TEST_F(Launch, InputsMayShareMemory) {
  tensors[x].data = static_cast<float*>(tensors[initial_state].data) + 8;
  tensors[s].data = tensors[x].data;
  EXPECT_NO_THROW(check());
}

TEST_F(Launch, SlicesOfOneTensorAreApart) {
  HostTensor fused{DType::f32, {2, 3, 2, 4, 8}};  // x and o of each token behind each other
  tensors[x].data = fused.view().data;
  tensors[o].data = static_cast<float*>(tensors[x].data) + 32;
  tensors[x].strides = tensors[o].strides = {192, 64, 8, 1};
  EXPECT_NO_THROW(check());
  tensors[o].data = static_cast<float*>(tensors[o].data) - 1;
  refused({"\"o\" and \"x\" overlap in memory"});
}

TEST_F(Launch, EmptyTensorsNeedNoMemory) {
  given.tokens = 0;
  tensors[x].shape[1] = tensors[o].shape[1] = 0;
  tensors[x].data = tensors[o].data = nullptr;
  EXPECT_NO_THROW(check());
  tensors[s].data = nullptr;
  refused({"\"s\" is null"});
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

TEST_F(Launch, StateInPlaceOfOneBatchHasItsStrides) {
  given.batches = 1;
  for (const Index i : {x, o, initial_state, final_state}) tensors[i].shape[0] = 1;
  tensors[final_state].data = tensors[initial_state].data;
  tensors[final_state].strides[0] = 7;
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

TEST_F(Launch, MapsOfSequencesLieInOneBatch) {
  const std::int64_t starts[] = {0, 1, 3};
  for (const Index i : {x, o}) tensors[i].shape[0] = 1;  // two sequences, as many as there are states
  given = {1, 3, 4, SequenceMap{2, starts, true}};
  EXPECT_NO_THROW(check());
  given.map->starts = nullptr;
  refused({"map of sequences is null", "expected 3 starts"});
  given.map->starts = reinterpret_cast<const char*>(starts) + 4;
  refused({"map of sequences", "8-byte"});
  given.map = SequenceMap{-1, starts, true};
  refused({"map of -1 sequences", "0 or more"});
  given.map = SequenceMap{3, starts, true};
  refused({"state\" has shape [2, 4, 8, 8]", "[3, 4, 8, 8]"});
  given = {2, 3, 4, SequenceMap{2, starts, true}};
  refused({"B = 2", "expected 1", "one batch"});
}

}  // namespace
}  // namespace wkvc
