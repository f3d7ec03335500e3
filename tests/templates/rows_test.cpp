#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "check.h"

namespace wkvc::test {
namespace {

class Rows : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Rows, MatchesDoubles) {
  const auto [rows, columns] = GetParam();
  const Shape shape{1, rows, 1, columns};
  const Values x = rounded(DType::f32, normal(shape.size(), 1));
  const auto at = [&, c = columns](int m, int n) { return x[m * c + n]; };
  const auto column_sum = [&](int first, int last, int n) {
    double sum = 0;
    for (int m = first; m <= last; ++m) sum += at(m, n);
    return sum;
  };
  const auto row_sum = [&, c = columns](int m) {
    double sum = 0;
    for (int n = 0; n < c; ++n) sum += at(m, n);
    return sum;
  };
  const int last = rows - 1, middle = rows / 2 - 1;
  const std::function<double(int, int)> results[] = {
      [&](int m, int n) { return column_sum(0, m, n); },
      [&](int m, int n) { return column_sum(m, last, n); },
      [&](int, int n) { return at(0, n); },
      [&](int, int n) { return at(middle, n); },
      [&](int, int n) { return at(last, n); },
      [&](int, int n) { return column_sum(0, last, n); },
      [&](int m, int) { return row_sum(m); },
      [&](int m, int n) { return m >= n ? at(m, n) : 0; },
      [&](int m, int n) { return m > n ? at(m, n) : 0; },
      [&](int m, int n) { return m == n ? at(m, n) : 0; },
      [&](int m, int n) { return at(m, n); },
      [&](int, int n) { return at(1, n); },
      [&](int m, int) { return row_sum(m); },
      [&](int m, int n) { return m == 0 ? at(1, n) : 0; },
      [&](int m, int n) { return m == middle ? at(1, n) : 0; },
      [&](int m, int n) { return m == last ? at(1, n) : 0; },
      [&](int, int) { return row_sum(middle); },
      [&](int, int) { return row_sum(last); },
  };
  Values expected;
  for (const auto& result : results) {
    for (int i = 0; i < shape.size(); ++i) expected.push_back(result(i / columns, i % columns));
  }
  Launch launch{"rows", "rows_" + std::to_string(rows) + "_" + std::to_string(columns)};
  launch.tensors = {Tensor(DType::f32, shape).set(x),
                    Tensor(DType::f32, {1, rows * static_cast<long long>(std::size(results)), 1, columns})};
  check(launch, {{1, expected, 1e-6}});
}

INSTANTIATE_TEST_SUITE_P(Sizes, Rows,
                         testing::Values(std::pair{16, 16}, std::pair{16, 64}, std::pair{32, 64}, std::pair{64, 48}));

// Running sums of vectors, and those without the number itself.
TEST(Vectors, MatchDoubles) {
  for (const int n : {16, 48}) {
    const Shape shape{1, n, 1, 16};
    const Values x = rounded(DType::f32, normal(shape.size(), 1));
    const auto at = [&](int m, int column) { return x[m * 16 + column]; };
    const auto sum = [&](int first, int last, const std::function<double(int)>& f) {
      double total = 0;
      for (int m = first; m <= last; ++m) total += f(m);
      return total;
    };
    const auto number = [&](int m) {
      double total = 0;
      for (int column = 0; column < 16; ++column) total += at(m, column);
      return total;
    };
    const std::function<double(int)> of_vectors[] = {
        [&](int m) { return sum(0, m, number); },
        [&](int m) { return sum(m, n - 1, number); },
        [&](int m) { return sum(0, m - 1, number); },
        [&](int m) { return sum(m + 1, n - 1, number); },
    };
    Values expected;
    const auto add = [&](const std::function<double(int, int)>& result) {
      for (int i = 0; i < shape.size(); ++i) expected.push_back(result(i / 16, i % 16));
    };
    for (int times = 0; times < 2; ++times)
      for (const auto& result : of_vectors) add([&](int m, int) { return result(m); });
    add([&](int m, int column) { return sum(0, m - 1, [&](int i) { return at(i, column); }); });
    add([&](int m, int column) { return sum(m + 1, n - 1, [&](int i) { return at(i, column); }); });
    for (int times = 0; times < 2; ++times) add([&](int m, int) { return m < n - 5 ? number(m) : 0; });
    Launch launch{"rows", "vectors_" + std::to_string(n)};
    launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, {1, n * static_cast<long long>(12), 1, 16})};
    check(launch, {{1, expected, 1e-6}});
  }
}

// What is not on the diagonal may be NaN.
TEST(DiagonalColumn, IgnoresTheRest) {
  for (const int c : {16, 48}) {
    Values x(c * c, std::numeric_limits<double>::quiet_NaN()), expected;
    for (int i = 0; i < c; ++i) {
      x[i * c + i] = i + 1;
      expected.insert(expected.end(), 16, i + 1);
    }
    Launch launch{"rows", "diagonal_column_" + std::to_string(c)};
    launch.tensors = {Tensor(DType::f32, {1, c, 1, c}).set(x), Tensor(DType::f32, {1, c, 1, 16})};
    check(launch, {{1, expected, 0}});
  }
}

// What `is_kept` says of a row and column stays, the rest is NaN and becomes 0.
void check_kept(const std::string& entry, const Shape& shape, int kept,
                const std::function<bool(long long, long long)>& is_kept) {
  Values x = rounded(DType::f32, normal(shape.size(), 1)), expected = x;
  for (long long i = 0; i < shape.size(); ++i) {
    if (is_kept(i / shape.columns, i % shape.columns)) continue;
    x[i] = std::numeric_limits<double>::quiet_NaN();
    expected[i] = 0;
  }
  Launch launch{"rows", entry};
  launch.tokens = kept;
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape)};
  check(launch, {{1, expected, 0}});
}

TEST(KeepRows, DropsNaN) {
  for (const int kept : {0, 1, 8, 15, 16, 21, 32})
    check_kept("keep_rows_32_16", {1, 32, 1, 16}, kept, [&](long long row, long long) { return row < kept; });
}

TEST(KeepColumns, DropsNaN) {
  for (const int kept : {0, 1, 8, 15, 16, 21, 32})
    check_kept("keep_columns_16_32", {1, 16, 1, 32}, kept, [&](long long, long long column) { return column < kept; });
}

}  // namespace
}  // namespace wkvc::test
