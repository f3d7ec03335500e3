// Rows and numbers that are small rests of large terms: what rounding may cost there, and what is a fault.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <tuple>

#include "checking/reference/comparison.h"
#include "checking/reference/error_draws.h"
#include "codegen/rec/reference/Rounding.h"
#include "dsl/build.h"
#include "dsl/builtin.h"
#include "dsl/wkvc.h"

namespace wkvc {
namespace {

Runnable rwkv7_kernels(const std::string& mma, DType stored) {
  Runnable runnable{"", Passes::both, {}};
  runnable.manifest.config = "mma " + mma;
  runnable.manifest.key_dim = runnable.manifest.value_dim = 64;
  std::vector<TensorSpec>& specs = runnable.manifest.tensors;
  const std::vector<std::string> keys{"B", "T", "H", "K"}, vectors{"B", "T", "H", "V"}, state{"B", "H", "V", "K"};
  for (const char* name : {"r", "w", "k", "a", "b"}) {
    specs.push_back({name, Role::input, stored, keys});
    specs.push_back({fmt::format("d{}", name), Role::input_gradient, stored, keys});
  }
  specs.push_back({"v", Role::input, stored, vectors});
  specs.push_back({"dv", Role::input_gradient, stored, vectors});
  specs.push_back({"o", Role::output, stored, vectors});
  specs.push_back({"do", Role::output_gradient, stored, vectors});
  specs.push_back({"initial_state", Role::initial_state, DType::f32, state});
  specs.push_back({"final_state", Role::final_state, DType::f32, state});
  specs.push_back({"dinitial_state", Role::initial_state_gradient, DType::f32, state});
  return runnable;
}

// Kernels that give one gradient alone, without an initial state.
Runnable kernels_of_gradient(const std::string& gradient, const std::string& mma) {
  Runnable runnable = rwkv7_kernels(mma, DType::f32);
  runnable.passes = Passes::backward;
  std::erase_if(runnable.manifest.tensors, [&](const TensorSpec& spec) {
    return spec.role == Role::initial_state || (is_result(spec.role) && spec.name != gradient);
  });
  return runnable;
}

// Of two tokens without an initial state, da[1] is k[0] times (v[0]·do[1]) (r[1]·b[1]): where v[0] and do[1] are nearly
// orthogonal, rounding costs the whole tensor many times the bound.
class CancelledRow : public testing::Test {
 protected:
  CancelledRow() {
    values = random_case(recurrence, runnable.manifest, {1, 2, 1}, 0);
    HostTensor &v = values.tensors.at("v"), &gradient = values.tensors.at("do");
    double product = 0, norm = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      product += v.get(i) * gradient.get(64 + i);
      norm += v.get(i) * v.get(i);
    }
    for (std::size_t i = 0; i < 64; ++i)
      gradient.set(64 + i, gradient.get(64 + i) - (product / norm - 5e-3) * v.get(i));
  }

  // The gradient with operands rounded as bf16 rounds them, times `factor`.
  ResultError error_of(std::uint64_t seed, double factor) {
    rec::Rounding rounding(8, seed);
    rec::Tensors inputs;
    for (const auto& [name, tensor] : values.tensors)
      for (std::size_t i = 0; i < tensor.size(); ++i) inputs[name].push_back(tensor.get(i));
    const rec::Gradients rounded =
        rec::differentiate(recurrence, {1, 2, 1}, inputs, {}, {{"o", inputs.at("do")}}, {}, &rounding);
    for (std::size_t i = 0; i < 128; ++i) values.tensors.at("da").set(i, factor * rounded.inputs.at("a")[i]);
    return compare(Reference(recurrence, runnable, values), runnable, values).at(0);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = build(rwkv7(), context);
  rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  Runnable runnable = kernels_of_gradient("da", "bf16");
  Case values;
};

// Twice the reference is beyond every bound, so that rounding is drawn. Rounding costs many elements less than their
// bounds, but for bf16 operands, which may cost a third more, and gradients of decays with operands of two terms.
TEST(RoundingCost, LeavesTheBoundsOfManyElements) {
  mlir::MLIRContext context;
  const auto module = build(rwkv7(), context);
  const rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  struct Mode {
    const char* mma;
    DType stored;
    double of_result, of_gradient, allowed = 1;
  };
  for (const Mode& mode : {Mode{"f16", DType::bf16, 1.8e-3, 2e-3}, Mode{"bf16", DType::bf16, 3.2e-3, 4.5e-3, 1.35},
                           Mode{"f16", DType::f32, 1.8e-3, 2e-3}, Mode{"f32", DType::f32, 1e-5, 2e-5},
                           Mode{"bf16x3", DType::f32, 2e-5, 2e-5, 1.8}}) {
    const Runnable runnable = rwkv7_kernels(mode.mma, mode.stored);
    Case values = random_case(recurrence, runnable.manifest, {1, 100, 2}, 1);
    const Reference reference(recurrence, runnable, values);
    for (const TensorSpec& spec : runnable.manifest.tensors) {
      if (!is_result(spec.role)) continue;
      const std::vector<double>& exact = reference.of(spec);
      for (std::size_t i = 0; i < exact.size(); ++i) values.tensors.at(spec.name).set(i, 2 * exact[i]);
    }
    for (const ResultError& result : compare(reference, runnable, values)) {
      const bool gradient = result.tensor.starts_with("d");
      const double bound = gradient ? mode.of_gradient : mode.of_result;
      EXPECT_GE(result.bound, bound) << mode.mma << " " << result.tensor;
      EXPECT_LE(result.bound, mode.allowed * bound) << mode.mma << " " << result.tensor;
      EXPECT_FALSE(result.passed());
    }
  }
}

// The only token has no state before: its decay's gradient is zero, or what rounding leaves of the terms a kernel
// subtracts.
TEST(ZeroRow, MayBeRoundingOfItsTerms) {
  mlir::MLIRContext context;
  const auto module = build(rwkv7(), context);
  const Runnable runnable = kernels_of_gradient("dw", "f32");
  Case values = random_case(rec::recurrence_of(*module), runnable.manifest, {1, 1, 1}, 0);
  for (const auto& [left, passes] : {std::pair(0.0, true), {1e-9, true}, {1e-4, false}}) {
    for (std::size_t i = 0; i < 64; ++i) values.tensors.at("dw").set(i, left);
    EXPECT_EQ(compare(Reference(rec::recurrence_of(*module), runnable, values), runnable, values).at(0).passed(),
              passes)
        << left;
  }
}

// Of two tokens the second one has a state before. What is left of terms in the first row is small beside the second.
TEST(ZeroRow, MayBeOffByLittleOfTheMeanRow) {
  mlir::MLIRContext context;
  const auto module = build(rwkv7(), context);
  const Runnable runnable = kernels_of_gradient("dw", "f16");
  Case values = random_case(rec::recurrence_of(*module), runnable.manifest, {1, 2, 1}, 0);
  const Reference reference(rec::recurrence_of(*module), runnable, values);
  const TensorSpec& dw = *std::ranges::find(runnable.manifest.tensors, "dw", &TensorSpec::name);
  const std::vector<double>& exact = reference.of(dw);
  double norm = 0;
  for (const double x : exact) norm += x * x;
  for (const auto& [left, passes] : {std::pair(2e-6, true), {1e-4, false}}) {
    for (std::size_t i = 0; i < 128; ++i)
      values.tensors.at("dw").set(i, exact[i] + (i < 64 ? left * std::sqrt(norm / 2 / 64) : 0));
    EXPECT_EQ(compare(reference, runnable, values).at(0).rows_passed(), passes) << left;
  }
}

// o = beta (k·r) v: beta's gradient at the first token is (k·r) (v·do), a small rest of the terms of v·do.
class CancelledNumber : public testing::Test {
 protected:
  static Definition writes() {
    return wkvc::recurrence("writes", [](Recurrence& op) {
      Dim K = op.key_dim(64), V = op.value_dim(64);
      op.compute(f32);
      auto [r, k] = op.inputs(K, f32, "r", "k");
      auto v = op.input("v", V, f32);
      auto beta = op.input("beta", scalar, f32);
      auto S = op.state("S", V, K, f32);
      auto next = S * 0.5f + outer(beta * v, k);
      op.update(S, next);
      op.output("o", dot(next, r), f32);
    });
  }

  CancelledNumber() {
    const std::vector<std::string> keys{"B", "T", "H", "K"}, vectors{"B", "T", "H", "V"}, numbers{"B", "T", "H"};
    runnable.manifest.config = "mma f32";
    runnable.manifest.key_dim = runnable.manifest.value_dim = 64;
    runnable.manifest.tensors = {{"r", Role::input, DType::f32, keys},
                                 {"k", Role::input, DType::f32, keys},
                                 {"v", Role::input, DType::f32, vectors},
                                 {"beta", Role::input, DType::f32, numbers},
                                 {"do", Role::output_gradient, DType::f32, vectors},
                                 {"dbeta", Role::input_gradient, DType::f32, numbers}};
    values = random_case(recurrence, runnable.manifest, {1, 2, 1}, 0);
    HostTensor &v = values.tensors.at("v"), &gradient = values.tensors.at("do");
    double product = 0, norm = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      product += v.get(i) * gradient.get(i);
      norm += v.get(i) * v.get(i);
      gradient.set(64 + i, 0);  // the second token asks nothing of the first one
    }
    for (std::size_t i = 0; i < 64; ++i) gradient.set(i, gradient.get(i) - (product / norm - 1e-4) * v.get(i));
  }

  // The gradient with an error of so much of what its terms are together.
  bool passes(double error) {
    double product = 0, terms = 0;
    const auto of = [&](const char* name, std::size_t i) { return values.tensors.at(name).get(i); };
    for (std::size_t i = 0; i < 64; ++i) {
      product += of("r", i) * of("k", i);
      terms += of("v", i) * of("v", i) * of("do", i) * of("do", i);
    }
    const Reference reference(recurrence, runnable, values);
    const std::vector<double>& exact = reference.of(runnable.manifest.tensors.back());
    values.tensors.at("dbeta").set(0, exact[0] + error * std::abs(product) * std::sqrt(terms));
    values.tensors.at("dbeta").set(1, exact[1]);
    return compare(reference, runnable, values).at(0).rows_passed();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = build(writes(), context);
  rec::RecurrenceOp recurrence = rec::recurrence_of(*module);
  Runnable runnable{"", Passes::backward, {}};
  Case values;
};

TEST_F(CancelledNumber, HasItsBoundRelativeToItsTerms) {
  EXPECT_TRUE(passes(0));
  EXPECT_TRUE(passes(5e-6));
  EXPECT_FALSE(passes(1e-4));
}

TEST_F(CancelledRow, MayBeOffByWhatRoundingCosts) {
  double most = 0;
  for (std::uint64_t seed = 1000; seed < 1030; ++seed) {
    const ResultError result = error_of(seed, 1);
    EXPECT_TRUE(result.passed()) << result.error << " " << result.bound;
    most = std::max(most, result.error);
  }
  EXPECT_GT(most, 4 * 4.5e-3);
  EXPECT_FALSE(error_of(1000, 3).passed());
}

// Errors of a vector that is so many independent normal numbers, each `ratio` times as large as the one before.
struct DrawnVector {
  std::size_t numbers;
  double ratio;
  std::mt19937_64 random{5};
  std::normal_distribution<double> normal{};

  std::vector<double> error() {
    std::vector<double> error(numbers);
    double size = 1;
    for (double& x : error) {
      x = size * normal(random);
      size *= ratio;
    }
    return error;
  }

  ErrorLimit limit() {
    std::array<std::vector<double>, ErrorDraws::count> errors;
    std::ranges::generate(errors, [&] { return error(); });
    std::array<std::span<const double>, ErrorDraws::count> views;
    std::ranges::copy(errors, views.begin());
    return ErrorDraws(views).limit();
  }
};

// A row may be three limits off. A kernel whose roundings cost half as much again as those of the draws is beyond as
// rarely as a draw is beyond twice the limit.
TEST(ErrorLimit, IsExceededTwiceByNone) {
  for (const auto& [numbers, ratio] : {std::pair(1, 1.), {2, 1.}, {4, 1.}, {8, 0.6}, {8, 0.3}, {64, 1.}}) {
    DrawnVector vector{.numbers = static_cast<std::size_t>(numbers), .ratio = ratio};
    int beyond = 0, near = 0;
    for (int trial = 0; trial < 200000 / numbers; ++trial) {
      const double limit = vector.limit().norm;
      const std::vector<double> error = vector.error();
      const double norm = std::sqrt(std::inner_product(error.begin(), error.end(), error.begin(), 0.0));
      beyond += norm > 2 * limit ? 1 : 0;
      near += norm > limit / 4 ? 1 : 0;
    }
    EXPECT_EQ(beyond, 0) << numbers << " " << ratio;
    EXPECT_GT(near, 0) << numbers << " " << ratio;  // the limit is no larger than it has to be
  }
}

// Student's t of eight draws exceeds 13.3 once in a million times; F of 64 and 512 degrees exceeds 1.47².
TEST(ErrorLimit, IsTheQuantile) {
  for (const auto& [numbers, least, most] : {std::tuple(1, 13., 18.), {64, 1.4, 1.7}}) {
    DrawnVector vector{.numbers = static_cast<std::size_t>(numbers), .ratio = 1};
    double mean = 0, freedom = 0;
    for (int trial = 0; trial < 1000; ++trial) {
      const ErrorLimit limit = vector.limit();
      mean += limit.norm / std::sqrt(numbers) / 1000;
      freedom += limit.freedom / 1000;
    }
    EXPECT_GT(mean, least) << numbers;
    EXPECT_LT(mean, most) << numbers;
    EXPECT_NEAR(freedom, numbers, 0.15 * numbers);
  }
}

}  // namespace
}  // namespace wkvc
