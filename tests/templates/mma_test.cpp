#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "check.h"

namespace wkvc::test {
namespace {

struct Operands {
  const char* name;
  DType a_dtype, b_dtype, a_digits, b_digits;  // as they are stored, and how many digits they have
  double tolerance;

  constexpr Operands(const char* named, DType dtype, DType digits, double within)
      : Operands(named, dtype, dtype, digits, digits, within) {}
  constexpr Operands(const char* named, DType a, DType b, DType digits_of_a, DType digits_of_b, double within)
      : name(named), a_dtype(a), b_dtype(b), a_digits(digits_of_a), b_digits(digits_of_b), tolerance(within) {}
};

using Sizes = std::tuple<int, int, int>;

class Mma : public testing::TestWithParam<std::tuple<Operands, Sizes>> {};

TEST_P(Mma, MatchesDoubles) {
  const auto& [operands, sizes] = GetParam();
  const auto [m, n, k] = sizes;
  const Values a = rounded(operands.a_digits, normal(m * k, 1)), b = rounded(operands.b_digits, normal(n * k, 2));
  Values once(m * n, 1.0);
  for (int i = 0; i < m * n; ++i) {
    for (int j = 0; j < k; ++j) once[i] += a[i / n * k + j] * b[i % n * k + j];
  }
  Values expected;
  constexpr int kVariants = 8;
  for (int i = 0; i < kVariants; ++i) expected.insert(expected.end(), once.begin(), once.end());
  const auto tensor = [](DType dtype, const Values& x, int rows, int columns) {
    return Tensor(dtype, Shape{1, rows, 1, columns}).set(x);
  };
  Launch launch{"mma", std::string("mma_") + operands.name + "_" + std::to_string(m) + "_" + std::to_string(n) + "_" +
                           std::to_string(k)};
  launch.shared_bytes = 128 * 1024;
  launch.tensors = {tensor(operands.a_dtype, a, m, k), tensor(operands.b_dtype, b, n, k),
                    tensor(operands.a_dtype, transposed(a, m, k), k, m),
                    tensor(operands.b_dtype, transposed(b, n, k), k, n),
                    Tensor(DType::f32, Shape{1, kVariants * m, 1, n})};
  check(launch, {{4, expected, operands.tolerance}});
}

// Products of operands of f16's or bf16's digits are exact in f32. Three products of tf32 halves leave 2^-22 of an
// operand, of two bf16 terms 2^-16, of two f16 terms 2^-24 of one.
constexpr Operands kF16{"f16", DType::f16, DType::f16, 1e-6}, kBf16{"bf16", DType::bf16, DType::bf16, 1e-6},
    kTf32{"tf32", DType::f32, DType::f16, 1e-6}, kF32{"f32", DType::f32, DType::f32, 1e-6},
    kBf16x3{"bf16x3", DType::f32, DType::f32, 1e-5}, kF16x2{"f16x2", DType::f32, DType::f32, 1e-6},
    kTermsOfB{"f16_f16x2", DType::f16, DType::f32, DType::f16, DType::f32, 1e-6},
    kTermsOfA{"f16x2_f16", DType::f32, DType::f16, DType::f32, DType::f16, 1e-6};

INSTANTIATE_TEST_SUITE_P(All, Mma,
                         testing::Combine(testing::Values(kF16, kBf16, kTf32, kF32, kBf16x3, kF16x2),
                                          testing::Values(Sizes{16, 16, 16}, Sizes{16, 64, 16}, Sizes{16, 16, 64},
                                                          Sizes{48, 32, 16})));
INSTANTIATE_TEST_SUITE_P(Terms, Mma,
                         testing::Combine(testing::Values(kTermsOfA, kTermsOfB),
                                          testing::Values(Sizes{16, 16, 16}, Sizes{48, 32, 16})));
INSTANTIATE_TEST_SUITE_P(Square, Mma, testing::Values(std::tuple{kF16, Sizes{64, 64, 32}}));

Values values_of_round(const std::string& kernel, const Target& target, const Values& x) {
  Launch launch{"mma", kernel};
  launch.tensors = {Tensor(DType::f32, Shape{1, 16, 1, 16}).set(x), Tensor(DType::f32, Shape{1, 16, 1, 16})};
  target.run(launch);
  return launch.tensors[1].values();
}

// Ties go to even digits.
TEST(Tf32, HasElevenDigits) {
  constexpr double kDigit = 0x1p-10;
  Values x = rounded(DType::f32, normal(16 * 16, 1)), expected = x;
  for (double& each : expected) {
    const double digit = std::ldexp(kDigit, std::ilogb(each));
    each = std::nearbyint(each / digit) * digit;
  }
  const std::pair<double, double> ends[] = {{1 + kDigit / 2, 1},
                                            {-1 - 1.5 * kDigit, -1 - 2 * kDigit},
                                            {0x1p100 * (1 + kDigit / 4), 0x1p100},
                                            {0x1p-100 * (1 + 0.75 * kDigit), 0x1p-100 * (1 + kDigit)}};
  for (std::size_t i = 0; i < std::size(ends); ++i) std::tie(x[i], expected[i]) = ends[i];
  for (const Target* target : targets()) {
    SCOPED_TRACE(target->name());
    EXPECT_EQ(values_of_round("round_tf32", *target, x), expected);
  }
}

// What f16 holds is exact. A term has the digits that f16 has above 2^-24.
TEST(F16x2, HasTwoTerms) {
  Values x = rounded(DType::f32, normal(16 * 16, 1));
  x[0] = 1 + 0x1p-11 + 0x1p-22, x[1] = 0x1p15 * (1 + 0x1p-20), x[2] = -2 * (1 - 0x1p-12), x[3] = 0;
  const Values high = rounded(DType::f16, x);
  Values expected = x;
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] -= high[i];
  expected = rounded(DType::f16, expected);
  for (std::size_t i = 0; i < x.size(); ++i) {
    expected[i] += high[i];
    EXPECT_LE(std::abs(expected[i] - x[i]), std::max(0x1p-22 * std::abs(x[i]), 0x1p-25)) << i;
  }
  for (const Target* target : targets()) {
    SCOPED_TRACE(target->name());
    EXPECT_EQ(values_of_round("round_f16x2", *target, x), expected);
    EXPECT_EQ(values_of_round("round_f16x2", *target, high), high);
  }
}

// What storage in bf16 has is exact: its low terms are zero.
TEST(Bf16x3, HasTwoTerms) {
  Values x = rounded(DType::f32, normal(16 * 16, 1));
  x[0] = 1 + 0x1p-8 + 0x1p-17, x[1] = 0x1p100 * (1 + 0x1p-16), x[2] = -0x1p-100 * (1 + 0x1p-10), x[3] = 0;
  const Values high = rounded(DType::bf16, x);
  Values expected = x;
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] -= high[i];
  expected = rounded(DType::bf16, expected);
  for (std::size_t i = 0; i < x.size(); ++i) {
    expected[i] += high[i];
    EXPECT_LE(std::abs(expected[i] - x[i]), 0x1p-17 * std::abs(x[i])) << i;
  }
  for (const Target* target : targets()) {
    SCOPED_TRACE(target->name());
    EXPECT_EQ(values_of_round("round_bf16x3", *target, x), expected);
    EXPECT_EQ(values_of_round("round_bf16x3", *target, high), high);
    EXPECT_EQ(values_of_round("round_bf16x3", *target, expected), expected);
  }
}

}  // namespace
}  // namespace wkvc::test
