// Results against the reference: bounds, rows, and what rounding may cost.
#include "checking/reference/comparison.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsl/build.h"
#include "dsl/builtin.h"
#include "dsl/wkvc.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

std::vector<ResultError> compared(rec::RecurrenceOp recurrence, const Runnable& runnable, const Case& values) {
  return compare(Reference(recurrence, runnable, values), runnable, values);
}

// Kernels of rwkv6 with the tensors they take.
Runnable rwkv6_kernels(Passes passes) {
  Runnable runnable{"", passes, {}};
  runnable.manifest.config = "mma f32";
  runnable.manifest.key_dim = runnable.manifest.value_dim = 64;
  std::vector<TensorSpec>& specs = runnable.manifest.tensors;
  for (const char* name : {"r", "w", "k"}) specs.push_back({name, Role::input, DType::bf16, {"B", "T", "H", "K"}});
  specs.push_back({"v", Role::input, DType::bf16, {"B", "T", "H", "V"}});
  specs.push_back({"u", Role::parameter, DType::bf16, {"H", "K"}});
  return runnable;
}

// rwkv6 forward with one output that a test fills itself.
class Output : public testing::Test {
 protected:
  explicit Output(DType stored = DType::bf16) {
    runnable.manifest.tensors.push_back({"initial_state", Role::initial_state, DType::f32, {"B", "H", "V", "K"}});
    runnable.manifest.tensors.push_back({"o", Role::output, stored, {"B", "T", "H", "V"}});
  }

  void draw(LaunchSize size, std::uint64_t seed = 0) {
    values = random_case(recurrence, runnable.manifest, size, seed);
  }
  void scale(const std::string& name, std::size_t token, double factor) {
    HostTensor& tensor = values.tensors.at(name);
    for (std::size_t i = 64 * token; i < 64 * (token + 1); ++i) tensor.set(i, factor * tensor.get(i));
  }
  void fill(const std::string& name, double value) {
    HostTensor& tensor = values.tensors.at(name);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, value);
  }

  // Makes the output the reference's, times `factor`, as it is stored.
  void store_reference(DType stored, double factor = 1) {
    runnable.manifest.tensors.back().dtype = stored;
    HostTensor& o = values.tensors.at("o") = HostTensor(stored, values.tensors.at("o").shape());
    const Reference reference(recurrence, runnable, values);
    const std::vector<double>& exact = reference.of(runnable.manifest.tensors.back());
    for (std::size_t i = 0; i < exact.size(); ++i) o.set(i, factor * exact[i]);
  }

  ResultError error() { return compared(recurrence, runnable, values).at(0); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = build(rwkv6(), context);
  rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  Runnable runnable = rwkv6_kernels(Passes::forward);
  Case values;
};

// However few elements there are, rounding them is right and anything worse than that is not.
TEST_F(Output, MayBeRoundedWhateverThatCosts) {
  for (const LaunchSize& size : {LaunchSize{1, 1, 1}, {1, 3, 2}}) {
    for (std::uint64_t seed = 10; seed < 16; ++seed) {
      SCOPED_TRACE(fmt::format("{} tokens, seed {}", size.tokens, seed));
      draw(size, seed);
      for (const auto& [stored, wrong] : {std::pair(DType::bf16, 1.006), {DType::f16, 1.0008}, {DType::f32, 1.00002}}) {
        store_reference(stored);
        const ResultError right = error();
        EXPECT_TRUE(right.passed()) << name_of(stored) << right.error << " " << right.bound;
        store_reference(stored, wrong);
        EXPECT_FALSE(error().passed()) << name_of(stored);
      }
    }
  }
}

// One element has all of the norm, and lies in the middle between two numbers that bf16 holds.
TEST_F(Output, MayHaveItsNormInOneElement) {
  draw({1, 100, 1});
  fill("v", 0);
  fill("initial_state", 0);
  for (const char* name : {"r", "k", "u"}) fill(name, 0);
  values.tensors.at("initial_state").set(0, 1 + 0x1p-8);
  values.tensors.at("r").set(0, 1);
  store_reference(DType::bf16);
  EXPECT_GT(error().error, 3.8e-3);
  EXPECT_TRUE(error().passed());
  EXPECT_LT(error().bound, 0x1p-8 + 2e-5);  // storage, and what sums in f32 may cost
}

// Many elements leave the bound as it is.
TEST_F(Output, OfManyElementsHasTheBoundOfItsOperands) {
  draw({1, 40, 1});
  for (const auto& [stored, bound] : {std::pair(DType::bf16, 1.8e-3), {DType::f16, 2.5e-4}, {DType::f32, 1e-5}}) {
    store_reference(stored);
    EXPECT_EQ(error().bound, bound);
    ASSERT_TRUE(error().worst);
    EXPECT_EQ(error().worst->bound, 4 * bound);
  }
}

// A token a thousand times as large as others hides in the norm what is wrong with another one.
TEST_F(Output, NamesTheWorstRow) {
  draw({2, 50, 3});
  scale("r", (50 + 20) * 3 + 1, 1000);  // of batch 1
  store_reference(DType::bf16);
  EXPECT_TRUE(error().passed());
  scale("o", (50 + 17) * 3 + 2, 1.02);
  const ResultError result = error();
  EXPECT_TRUE(result.norm_passed());
  EXPECT_FALSE(result.passed());
  ASSERT_TRUE(result.worst);
  EXPECT_EQ(text_of(result.worst->place), "batch 1, token 17, head 2");
  EXPECT_NEAR(result.worst->error, 0.02, 3e-3);
}

TEST_F(Output, NamesTheFirstRowThatIsNotFinite) {
  draw({1, 20, 2});
  store_reference(DType::bf16);
  for (const std::size_t row : {9, 12}) values.tensors.at("o").set(64 * row, std::nan(""));
  EXPECT_FALSE(error().passed());
  EXPECT_EQ(text_of(error().worst->place), "batch 0, token 4, head 1");
}

// What f16 does not hold is infinite as it is stored, which no rounding excuses.
TEST_F(Output, BeyondItsStorageFails) {
  draw({1, 20, 1});
  scale("r", 7, 1e7);
  store_reference(DType::f16);
  EXPECT_FALSE(error().passed());
  EXPECT_EQ(text_of(error().worst->place), "batch 0, token 7, head 0");
  for (std::size_t i = 64 * 7; i < 64 * 8; ++i) values.tensors.at("o").set(i, 60000);
  EXPECT_FALSE(error().passed());
}

// Decays of exp(-148) a token take the state to where f32 has no numbers.
TEST_F(Output, BelowF32IsZero) {
  draw({1, 20, 1});
  fill("k", 0);
  fill("w", 5);
  store_reference(DType::f32);
  EXPECT_TRUE(error().passed());
  for (std::size_t token = 1; token < 20; ++token) scale("o", token, 0);
  EXPECT_TRUE(error().passed());
  values.tensors.at("o").set(64 * 7, 1e-30);
  EXPECT_EQ(text_of(error().worst->place), "batch 0, token 7, head 0");
  EXPECT_FALSE(error().passed());
  fill("initial_state", 1e-30);  // nothing has a norm
  fill("o", 0);
  EXPECT_FALSE(error().passed());  // o[0] is 1e-30
  store_reference(DType::f32);
  EXPECT_TRUE(error().passed());
}

TEST(Comparison, StatesSavedIn16Bits) {
  Runnable runnable = rwkv6_kernels(Passes::backward);
  std::vector<TensorSpec>& specs = runnable.manifest.tensors;
  specs.push_back({"do", Role::output_gradient, DType::bf16, {"B", "T", "H", "V"}});
  specs.push_back({"dr", Role::input_gradient, DType::f32, {"B", "T", "H", "K"}});
  specs.push_back({"saved_states", Role::saved_states, DType::f32, {"B", "H", "V", "K"}});
  mlir::MLIRContext context;
  const auto module = build(rwkv6(), context);
  const auto bound = [&](DType saved, const char* mma) {
    specs.back().dtype = saved;
    runnable.manifest.config = fmt::format("mma {}", mma);
    const Case drawn = random_case(rec::recurrence_of(*module), runnable.manifest, {1, 5, 1}, 0);
    return compared(rec::recurrence_of(*module), runnable, drawn).at(0).bound;
  };
  EXPECT_EQ(bound(DType::f32, "f16"), 2e-3);
  EXPECT_EQ(bound(DType::bf16, "f16"), 2.5e-3);
  EXPECT_EQ(bound(DType::bf16, "bf16"), 4.5e-3);
  EXPECT_EQ(bound(DType::f16, "f16"), 2e-3);
  EXPECT_EQ(bound(DType::f16, "f32"), 3.2e-4);
}

TEST(Comparison, MissingResults) {
  Runnable runnable = rwkv6_kernels(Passes::both);
  runnable.manifest.tensors.push_back({"o", Role::output, DType::bf16, {"B", "T", "H", "V"}});
  runnable.manifest.tensors.push_back({"dr", Role::input_gradient, DType::bf16, {"B", "T", "H", "K"}});
  mlir::MLIRContext context;
  const auto module = build(rwkv6(), context);
  const auto missing = [&](Passes passes, const std::vector<std::string>& gradients) {
    runnable.passes = passes;
    return missing_results(rec::recurrence_of(*module), runnable, gradients);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(missing(Passes::forward, {}), Names{"final_state"});
  EXPECT_EQ(missing(Passes::backward, {}), (Names{"dw", "dk", "dv", "du", "dinitial_state"}));
  EXPECT_EQ(missing(Passes::both, {"r", "u"}), (Names{"final_state", "du", "dinitial_state"}));
  EXPECT_THROW(missing(Passes::both, {"x"}), UserError);
}

// A parameter's gradient, and an output whose gradient comes in under its name.
TEST(Comparison, GradientsOfParameters) {
  Runnable runnable = rwkv6_kernels(Passes::backward);
  std::vector<TensorSpec>& specs = runnable.manifest.tensors;
  specs.push_back({"do", Role::output_gradient, DType::bf16, {"B", "T", "H", "V"}});
  specs.push_back({"du_parts", Role::workspace, DType::f32, {"B", "H", "K"}});
  specs.push_back({"du", Role::parameter_gradient, DType::f32, {"H", "K"}});
  mlir::MLIRContext context;
  const auto module = build(rwkv6(), context);
  Case drawn = random_case(rec::recurrence_of(*module), runnable.manifest, {2, 5, 3}, 1);
  EXPECT_FALSE(drawn.tensors.contains("du_parts"));
  EXPECT_NE(drawn.tensors.at("do").get(0), 0);
  EXPECT_FALSE(compared(rec::recurrence_of(*module), runnable, drawn)[0].passed());  // still NaN

  rec::Tensors inputs;
  for (const auto& [name, tensor] : drawn.tensors)
    for (std::size_t i = 0; i < tensor.size(); ++i) inputs[name].push_back(tensor.get(i));
  const auto expected =
      rec::differentiate(rec::recurrence_of(*module), {2, 5, 3}, inputs, {}, {{"o", inputs.at("do")}}).inputs.at("u");
  for (std::size_t i = 0; i < expected.size(); ++i) drawn.tensors.at("du").set(i, expected[i]);
  const std::vector<ResultError> errors = compared(rec::recurrence_of(*module), runnable, drawn);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].tensor, "du");
  EXPECT_LT(errors[0].error, 1e-7);
  EXPECT_EQ(errors[0].bound, 2e-5);
}

}  // namespace
}  // namespace wkvc
