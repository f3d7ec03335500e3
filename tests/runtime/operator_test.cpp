// A program as a host application calls it: pass by pass, with one workspace.
#include "runtime/operator.h"

#include <cstdlib>
#include <memory>

#include "runtime/launch/internals.h"
#include "runtime/tensor/typed.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_program.h"
#include "tests/runtime/tiny_training.h"

namespace wkvc {
namespace {

constexpr LaunchSize size{2, 11, 3};

class Operators : public ::testing::Test {
 protected:
  std::vector<Tensor> tensors_of(Direction pass, TinyTraining& training) const {
    std::vector<Tensor> tensors;
    for (const TensorSpec& spec : op.tensors(pass)) tensors.push_back(training.tensors.at(spec.name).view());
    return tensors;
  }
  void* workspace() {
    void* data = aligned.data();
    std::size_t space = aligned.size();
    return std::align(256, 1, data, space);
  }

  Program program = Program::load(tiny_program(), Target::host);
  Operator op{program};
  std::vector<char> aligned = std::vector<char>(static_cast<std::size_t>(op.workspace_bytes(size)) + 256, '\xff');
};

TEST_F(Operators, RunAsTheProgramDoes) {
  TinyTraining expected(size), given(size);
  auto internals = host_internals(program, size);
  NamedTensors all;
  for (auto& [name, tensor] : expected.tensors) all[name] = tensor.view();
  for (auto& [name, tensor] : internals) all[name] = tensor.view();
  program.launch(all, size);
  for (const Direction pass : {Direction::forward, Direction::backward}) {
    op.launch(pass, tensors_of(pass, given), size, workspace());
  }
  for (const auto& [name, tensor] : expected.tensors) {
    for (std::size_t i = 0; i < tensor.size(); ++i) EXPECT_EQ(given.tensors.at(name).get(i), tensor.get(i)) << name;
  }
}

TEST_F(Operators, TakeWhatIsNotInternal) {
  for (const Direction pass : {Direction::forward, Direction::backward}) {
    EXPECT_TRUE(op.has(pass));
    for (const TensorSpec& spec : op.tensors(pass)) EXPECT_FALSE(is_internal(spec.role)) << spec.name;
  }
  EXPECT_EQ(op.tensors(Direction::forward).size(), 5U);   // x u initial_state o final_state
  EXPECT_EQ(op.tensors(Direction::backward).size(), 7U);  // x u do dfinal_state dx dinitial_state du
  // 3 states for each of 6 heads, and a part of du for each, both rounded up to 256.
  EXPECT_EQ(op.workspace_bytes(size), 6 * 3 * 64 * 4 + 256);
  EXPECT_EQ(op.workspace_bytes({2, 0, 3}), 256);
}

TEST_F(Operators, KeepApartWhatTheBackwardPassReads) {
  ASSERT_EQ(op.saved().size(), 1);
  EXPECT_EQ(op.saved().front().role, Role::saved_states);
  EXPECT_EQ(op.saved_bytes(size), 6 * 3 * 64 * 4);
  TinyTraining training(size);
  std::vector<char> scratch(512, '\xff');
  const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
  const Operator::Workspace parts{workspace(), scratch.data() + (256 - address % 256)};
  const std::vector<Tensor> tensors = tensors_of(Direction::forward, training);
  op.launch(Direction::forward, tensors, size, parts);
  const std::vector<char> saved = aligned;
  op.launch(Direction::backward, tensors_of(Direction::backward, training), size, parts);
  EXPECT_EQ(aligned, saved);
  expect_error([&] { op.launch(Direction::forward, tensors, size, Operator::Workspace{workspace(), nullptr}); },
               {"workspace is null", "256 bytes"});
}

TEST_F(Operators, RefuseWhatIsWrong) {
  TinyTraining training(size);
  std::vector<Tensor> tensors = tensors_of(Direction::forward, training);
  auto* const odd = static_cast<char*>(workspace()) + 16;
  expect_error([&] { op.launch(Direction::forward, tensors, size, nullptr); }, {"workspace is null", "4864 bytes"});
  expect_error([&] { op.launch(Direction::forward, tensors, size, odd); }, {"multiple of 64"});
  tensors.pop_back();
  expect_error([&] { op.launch(Direction::forward, tensors, size, workspace()); }, {"takes 5 tensors, and 4"});
  const Operator forward(program.only(Direction::forward));
  EXPECT_FALSE(forward.has(Direction::backward));
  expect_error([&] { forward.launch(Direction::backward, {}, size); }, {"without its backward pass", "--pass both"});
  expect_error([&] { op.workspace_bytes({1 << 15, std::int64_t{1} << 34, 1 << 15}); }, {"63 bits"});
  for (const Operator* any : std::array<const Operator*, 2>{&op, &forward}) {
    expect_error([&] { any->workspace_bytes({-1, 1, 1}); }, {"B = -1", "cannot be negative"});
    expect_error([&] { any->workspace_bytes({1 << 20, 1, 1 << 20}); }, {"B·H", "2^31-1"});
  }
  expect_error([&] { op.tensors(static_cast<Direction>(7)); }, {"the pass is 7"});
}

TEST_F(Operators, ArePackedWithoutAnotherWord) {
  const std::string text = tiny_program();
  const Operator packed(Program::load(PackedProgram{text, {}, {}, {}}, Target::host));
  EXPECT_EQ(packed.manifest().tensors.size(), op.manifest().tensors.size());
}

TEST(TypedTensors, AreTensors) {
  std::array<float, 24> values{};
  const Tensor tensor = Input<DType::f32, 3>(values.data(), {2, 3, 4});
  EXPECT_EQ(tensor.data, values.data());
  EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(tensor.strides, (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_EQ(Tensor(Input<DType::f32, 3>(values.data(), {2, 3, 2}, {12, 4, 1})).strides.back(), 1);
  EXPECT_EQ(Tensor(Result<DType::f16, 2>()).data, nullptr);
  // What the compiler refuses: another element type, and a result that is const.
  static_assert(!std::is_constructible_v<Input<DType::f32, 1>, double*, std::array<std::int64_t, 1>>);
  static_assert(!std::is_constructible_v<Input<DType::bf16, 1>, float*, std::array<std::int64_t, 1>>);
  static_assert(!std::is_constructible_v<Result<DType::f32, 1>, const float*, std::array<std::int64_t, 1>>);
  static_assert(std::is_constructible_v<Input<DType::f32, 1>, const float*, std::array<std::int64_t, 1>>);
  static_assert(std::is_constructible_v<Input<DType::bf16, 1>, const std::uint16_t*, std::array<std::int64_t, 1>>);
}

}  // namespace
}  // namespace wkvc
