#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "check.h"

namespace wkvc::test {
namespace {

class Levels : public testing::TestWithParam<std::pair<int, int>> {};

// Whether the row is in the upper half of its block of 2·half rows, the first row of the other half, and the row behind
// the half that begins with `first`.
bool is_upper(int row, int half) { return row % (2 * half) >= half; }
int other_half(int row, int half) { return row - row % (2 * half) + (is_upper(row, half) ? 0 : half); }
int end_of_half(int first, int half, int rows) { return std::min(first + half, rows); }

TEST_P(Levels, MatchDoubles) {
  const auto [rows, columns] = GetParam();
  const Shape shape{1, rows, 1, columns}, square{1, rows, 1, rows};
  const Values x = rounded(DType::f32, normal(shape.size(), 1)), y = rounded(DType::f32, normal(shape.size(), 2));
  // Selections drop NaN, too.
  Values pairs = rounded(DType::f32, normal(square.size(), 3));
  for (int i = 0; i < rows; ++i) pairs[i * rows + rows - 1] = std::numeric_limits<double>::quiet_NaN();
  Values of_rows, of_pairs;
  int levels = 0;
  for (int half = 1; half < rows; half *= 2, ++levels) {
    const std::function<double(int, int)> results[] = {
        [&, c = columns, r = rows](int i, int n) {
          const int first = other_half(i, half);
          return first < r ? x[(end_of_half(first, half, r) - 1) * c + n] : 0;
        },
        [&, c = columns, r = rows](int i, int n) {
          const int first = other_half(i, half);
          double sum = 0;
          for (int m = first; m < end_of_half(first, half, r); ++m) sum += x[m * c + n];
          return i + 1 == end_of_half(i - i % half, half, r) ? sum : 0;
        },
        [&, c = columns](int i, int n) { return is_upper(i, half) ? x[i * c + n] : y[i * c + n]; },
        [&, c = columns](int i, int n) { return is_upper(i, half) ? x[i * c + n] : 0; },
        [&, c = columns](int i, int n) { return is_upper(i, half) ? 0 : x[i * c + n]; },
    };
    for (const auto& result : results) {
      for (int i = 0; i < shape.size(); ++i) of_rows.push_back(result(i / columns, i % columns));
    }
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < rows; ++j) {
        const bool pair = i / (2 * half) == j / (2 * half) && is_upper(i, half) && !is_upper(j, half);
        of_pairs.push_back(pair ? pairs[i * rows + j] : 0);
      }
    }
  }
  Launch launch{"levels", "levels_" + std::to_string(rows) + "_" + std::to_string(columns)};
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape).set(y),
                    Tensor(DType::f32, square).set(pairs), Tensor(DType::f32, {1, 5 * levels * rows, 1, columns}),
                    Tensor(DType::f32, {1, levels * rows, 1, rows})};
  check(launch, {{3, of_rows, 1e-6}, {4, of_pairs, 0}});
}

INSTANTIATE_TEST_SUITE_P(Sizes, Levels,
                         testing::Values(std::pair{16, 16}, std::pair{32, 48}, std::pair{48, 16}, std::pair{64, 16}));

}  // namespace
}  // namespace wkvc::test
