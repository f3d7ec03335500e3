#include <gtest/gtest.h>

#include <cmath>

#include "check.h"

namespace wkvc::test {
namespace {

Values inverse(const Values& x, int c) {
  Values y(x.size());
  for (int i = 0; i < c; ++i) {
    y[i * c + i] = 1;
    for (int k = 0; k < i; ++k) {
      for (int j = 0; j <= k; ++j) y[i * c + j] += x[i * c + k] * y[k * c + j];
    }
  }
  return y;
}

// One key repeated, its value decaying by `decay` a token: what doubling in f16 does not survive.
Values repeated_keys(int c, double beta, double decay) {
  Values x(c * c);
  for (int i = 0; i < c; ++i) {
    for (int j = 0; j < i; ++j) x[i * c + j] = -beta * std::pow(decay, i - j - 1);
  }
  return rounded(DType::f32, x);
}

Values random_keys(int c, double beta) {
  const Values keys = normal(c * 32, 3);
  Values x(c * c);
  for (int i = 0; i < c; ++i) {
    for (int j = 0; j < i; ++j) {
      for (int d = 0; d < 32; ++d) x[i * c + j] -= beta * keys[i * 32 + d] * keys[j * 32 + d] / 32;
    }
  }
  return rounded(DType::f32, x);
}

void check_inverse(const std::string& dtype, const Values& x, int c, double tolerance) {
  const Shape shape{1, c, 1, c};
  Launch launch{"inverse", "inverse_" + dtype + "_" + std::to_string(c)};
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape)};
  check(launch, {{1, inverse(x, c), tolerance}});
}

class Inverse : public testing::TestWithParam<std::string> {};

TEST_P(Inverse, SurvivesRepeatedKeys) {
  for (const int c : {16, 32, 48, 64}) {
    for (const double beta : {0.5, 0.9, 1.0}) {
      for (const double decay : {1.0, 0.99, 0.9, 0.5})
        check_inverse(GetParam(), repeated_keys(c, beta, decay), c, 2e-6);
    }
  }
}

// The inverse of beta = 2 alternates and does not decay: its size lets f32 lose a digit.
TEST_P(Inverse, SurvivesBetaOfTwo) {
  for (const int c : {16, 32, 48, 64}) {
    for (const double decay : {1.0, 0.99, 0.9}) check_inverse(GetParam(), repeated_keys(c, 2, decay), c, 5e-5);
  }
}

TEST_P(Inverse, OfRandomKeys) {
  for (const int c : {16, 32, 48, 64}) check_inverse(GetParam(), random_keys(c, 1), c, 2e-6);
}

// In f32 a row of the inverse takes nothing of later rows, not even NaN.
TEST(InverseInF32, KeepsRowsBeforeWhatIsNotFinite) {
  for (const int c : {16, 48})
    for (const int bad : {3, 7, 9, 14, c - 1}) {
      Values x = random_keys(c, 1), poisoned = x;
      for (int j = 0; j < bad; j += 2) poisoned[bad * c + j] = std::nan("");
      for (const Target* target : targets()) {
        SCOPED_TRACE(target->name() + ", row " + std::to_string(bad) + " of " + std::to_string(c));
        Launch clean{"inverse", "inverse_f32_" + std::to_string(c)}, launch = clean;
        const Shape shape{1, c, 1, c};
        clean.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape)};
        launch.tensors = {Tensor(DType::f32, shape).set(poisoned), Tensor(DType::f32, shape)};
        target->run(clean);
        target->run(launch);
        const Values found = launch.tensors[1].values(), expected = clean.tensors[1].values();
        for (int i = 0; i < bad * c; ++i) ASSERT_EQ(found[i], expected[i]) << i / c << ", " << i % c;
        EXPECT_TRUE(std::isnan(found[bad * c]));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, Inverse, testing::Values("f16", "bf16", "f32"));

}  // namespace
}  // namespace wkvc::test
