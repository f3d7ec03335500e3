// Contractions of triangular matrices: masked pairs are not multiplied.
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "check.h"

namespace wkvc::test {
namespace {

constexpr int kRows = 32;

struct Case {
  std::string name;
  DType dtype;  // that has the operands' digits
  int c;
  DType of_matrix = dtype;  // below its diagonal
};

// A matrix of so many digits below its diagonal, and of f16's on it.
Values matrix_of(DType digits, int c) {
  Values x = rounded(digits, normal(c * c, 1));
  const Values f16 = rounded(DType::f16, x);
  for (int i = 0; i < c; ++i) x[i * c + i] = f16[i * c + i];
  return x;
}

Launch launch_of(Case of, const Values& matrix, const Values& x) {
  const int c = of.c;
  Launch launch{"triangular", "triangular_" + of.name};
  launch.tensors = {Tensor(DType::f32, Shape{1, c, 1, c}).set(matrix), Tensor(DType::f32, Shape{1, kRows, 1, c}).set(x),
                    Tensor(DType::f32, Shape{1, 2 * kRows, 1, c}), Tensor(DType::f32, Shape{1, 2 * c, 1, kRows})};
  return launch;
}

// 1 + x·Lᵀ and 1 + x·L of the lower triangle L, one after the other.
Values products(int c, const Values& matrix, const Values& x) {
  Values result(2 * kRows * c, 1.0);
  for (int row = 0; row < kRows; ++row)
    for (int i = 0; i < c; ++i)
      for (int j = 0; j <= i; ++j) {
        result[row * c + i] += x[row * c + j] * matrix[i * c + j];
        result[(kRows + row) * c + j] += x[row * c + i] * matrix[i * c + j];
      }
  return result;
}

Values joined(Values first, const Values& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class Triangular : public testing::TestWithParam<Case> {
 protected:
  // The results, of which the last tensor has the transposes.
  Values by_rows(const Launch& launch, int tensor) const {
    Values all = launch.tensors[tensor].values();
    if (tensor == 2) return all;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    return joined(transposed({all.begin(), middle}, c, kRows), transposed({middle, all.end()}, c, kRows));
  }

  int c = GetParam().c;
  Values matrix = GetParam().of_matrix == GetParam().dtype ? rounded(GetParam().dtype, normal(c* c, 1))
                                                           : matrix_of(GetParam().of_matrix, c);
  Values x = rounded(GetParam().dtype, normal(kRows* c, 2));
};

TEST_P(Triangular, MatchesDoubles) {
  const Values expected = products(c, matrix, x);
  const auto middle = expected.begin() + static_cast<std::ptrdiff_t>(expected.size() / 2);
  const Values transposes =
      joined(transposed({expected.begin(), middle}, kRows, c), transposed({middle, expected.end()}, kRows, c));
  check(launch_of(GetParam(), matrix, x), {{2, expected, 1e-6}, {3, transposes, 1e-6}});
}

// Column `bad` of x is not finite, or huge: by the lower triangle it counts from column `bad` of the result on, by the
// upper one up to that.
TEST_P(Triangular, MaskedPairsAreNotMultiplied) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double value : {std::nan(""), infinite, -infinite, 1e30, double{std::numeric_limits<float>::max()}})
    for (const int bad : {0, 5, 8, c - 1}) {
      Values poisoned = x;
      for (int row = 0; row < kRows; row += 3) poisoned[row * c + bad] = value;
      for (const Target* target : targets()) {
        SCOPED_TRACE(target->name() + ", " + std::to_string(value) + " in column " + std::to_string(bad));
        Launch clean = launch_of(GetParam(), matrix, x), launch = launch_of(GetParam(), matrix, poisoned);
        target->run(clean);
        target->run(launch);
        for (const int tensor : {2, 3}) {
          const Values found = by_rows(launch, tensor), expected = by_rows(clean, tensor);
          for (int i = 0; i < 2 * kRows * c; ++i) {
            if (i >= kRows * c ? i % c <= bad : i % c >= bad) continue;
            ASSERT_EQ(found[i], expected[i]) << i << " of tensor " << tensor;
          }
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Triangular,
                         testing::Values(Case{"f32_16", DType::f32, 16}, Case{"f32_48", DType::f32, 48},
                                         Case{"f16_16", DType::f16, 16}, Case{"bf16_48", DType::bf16, 48},
                                         Case{"tf32_48", DType::f16, 48}, Case{"bf16x3_16", DType::bf16, 16},
                                         Case{"bf16x3_48", DType::bf16, 48},
                                         Case{"f16x2_48", DType::f16, 48, DType::f32},
                                         Case{"lower_f16x2_16", DType::f16, 16, DType::f32},
                                         Case{"lower_f16x2_48", DType::f16, 48, DType::f32}),
                         [](const auto& of) { return of.param.name; });

Values stacked(std::initializer_list<Values> all) {
  Values rows;
  for (const Values& each : all) rows = joined(std::move(rows), each);
  return rows;
}

// Both terms are read wherever the matrix is, and one matrix of f16 keeps them: a high term up to the diagonal, a low
// one behind it.
TEST(LowerF16x2, HasTwoTermsInTheMemoryOfOne) {
  for (const int c : {16, 48}) {
    SCOPED_TRACE(c);
    const Values matrix = matrix_of(DType::f32, c), high = rounded(DType::f16, matrix);
    Values low = matrix, lower(matrix.size()), kept = high;
    for (std::size_t i = 0; i < low.size(); ++i) low[i] -= high[i];
    low = rounded(DType::f16, low);
    for (int i = 0; i < c; ++i)
      for (int j = 0; j <= i; ++j) {
        lower[i * c + j] = high[i * c + j] + low[i * c + j];
        if (j < i) kept[j * c + i] = low[i * c + j];
      }
    const Values x = rounded(DType::f16, normal(kRows * c, 2));
    Values by_both = products(c, matrix, x);
    for (double& value : by_both) value -= 1;
    const auto middle = by_both.begin() + static_cast<std::ptrdiff_t>(by_both.size() / 2);
    const Values by_lower = transposed({by_both.begin(), middle}, kRows, c);
    const Values by_upper = transposed({middle, by_both.end()}, kRows, c);
    Launch launch{"triangular", "folded_" + std::to_string(c)};
    launch.tensors = {
        Tensor(DType::f32, Shape{1, c, 1, c}).set(matrix), Tensor(DType::f16, Shape{1, kRows, 1, c}).set(x),
        Tensor(DType::f32, Shape{1, 2 * kRows, 1, c}),     Tensor(DType::f32, Shape{1, 3 * c, 1, kRows}),
        Tensor(DType::f32, Shape{1, 2 * c, 1, c}),         Tensor(DType::f16, Shape{1, c, 1, c})};
    check(launch, {{2, by_both, 1e-6},
                   {3, stacked({by_lower, by_upper, by_lower}), 1e-6},
                   {4, stacked({lower, lower}), 0},
                   {5, kept, 0}});
  }
}

}  // namespace
}  // namespace wkvc::test
