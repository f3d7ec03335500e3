#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "check.h"

namespace wkvc::test {
namespace {

class Arithmetic : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Arithmetic, MatchesDoubles) {
  const auto [rows, columns] = GetParam();
  const Shape shape{1, rows, 1, columns};
  const Values x = rounded(DType::f32, normal(shape.size(), 1)), y = rounded(DType::f32, normal(shape.size(), 2));
  const double* r = &y[3 * columns];
  Values c(rows);
  for (int i = 0; i < shape.size(); ++i) c[i / columns] += y[i];
  using At = std::function<double(int, int, int)>;  // row, column, index
  const At results[] = {
      [&](int, int, int i) { return x[i] + y[i]; },
      [&](int, int, int i) { return x[i] - y[i]; },
      [&](int, int, int i) { return x[i] * y[i]; },
      [&](int, int n, int i) { return x[i] * r[n] - r[n]; },
      [&](int m, int, int i) { return c[m] + x[i] * c[m]; },
      [&](int, int, int i) { return 2 - 3 * x[i]; },
      [&](int, int n, int i) { return r[n] - x[i]; },
      [&](int, int, int i) { return -x[i]; },
      [&](int, int n, int) { return 1 - r[n] * r[n]; },
      [&](int, int, int i) { return std::max(x[i], 0.25); },
      [&](int, int, int i) { return x[i] > 0.25 ? 1 : 0; },
      [&](int, int n, int) { return r[n] > 0.25 ? 1 : 0; },
      [&](int, int n, int i) { return x[i] * r[n]; },
      [&](int, int n, int i) { return x[i] * r[n] * r[n]; },
      [&](int, int, int i) { return x[i]; },
      [&](int, int, int i) { return std::max(x[i], 0.25); },
      [&](int, int, int i) { return x[i] >= 0.25 ? 1 : 0; },
  };
  Values expected;
  for (const At& at : results) {
    for (int i = 0; i < shape.size(); ++i) expected.push_back(at(i / columns, i % columns, i));
  }
  Launch launch{"arithmetic", "arithmetic_" + std::to_string(rows) + "_" + std::to_string(columns)};
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape).set(y),
                    Tensor(DType::f32, {1, rows * static_cast<long long>(std::size(results)), 1, columns})};
  check(launch, {{2, expected, 1e-6}});
}

INSTANTIATE_TEST_SUITE_P(Sizes, Arithmetic, testing::Values(std::pair{16, 16}, std::pair{16, 64}, std::pair{48, 32}));

}  // namespace
}  // namespace wkvc::test
