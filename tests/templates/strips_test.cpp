#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "check.h"

namespace wkvc::test {
namespace {

struct Strip {
  DType dtype;
  int rows, columns;
};

class Strips : public testing::TestWithParam<Strip> {};

TEST_P(Strips, MatchDoubles) {
  const auto [dtype, rows, columns] = GetParam();
  const Shape shape{1, rows, 1, columns};
  const Values x = rounded(dtype, normal(shape.size(), 1)), y = rounded(dtype, normal(shape.size(), 2));
  const Values numbers = rounded(dtype, normal(rows, 3));  // of a token
  const auto at = [c = columns](const Values& of, int m, int n) { return of[m * c + n]; };
  const auto row_sum = [&, c = columns](int m) {
    double sum = 0;
    for (int n = 0; n < c; ++n) sum += at(x, m, n);
    return sum;
  };
  const auto sum_of = [&](int first, int end, int n) {
    double sum = 0;
    for (int m = first; m < end; ++m) sum += at(x, m, n);
    return sum;
  };
  const int last = rows - 1, half_way = rows / 2 - 1;
  std::vector<std::function<double(int, int)>> results = {
      [&](int m, int n) { return at(x, m, n); },
      [&](int m, int n) { return sum_of(0, m + 1, n); },
      [&](int m, int n) { return sum_of(0, m, n); },
      [&](int m, int n) { return sum_of(m, last + 1, n); },
      [&](int m, int n) { return sum_of(m + 1, last + 1, n); },
      [&](int, int n) { return at(x, 0, n); },
      [&](int, int n) { return at(x, half_way, n); },
      [&](int, int n) { return at(x, last, n); },
      [&](int m, int n) { return at(y, m, n) * at(x, 1, n) - at(y, m, n); },
      [&](int m, int) { return row_sum(m); },
      [&](int m, int n) { return m < last - 2 ? at(x, m, n) * numbers[m] : 0; },
      [&](int m, int n) { return m <= half_way + 1 ? at(x, m, n) : 0; },
      [&](int m, int n) { return m == 0 ? at(y, last, n) : at(x, m - 1, n); },
      [&](int m, int n) { return at(x, m, n) / 4; },
      [&](int, int n) { return at(x, 1, n); },
      [&](int m, int) { return row_sum(m); },
  };
  for (const int half : {1, 2, 4, 8}) {
    const auto is_upper = [half](int m) { return m % (2 * half) >= half; };
    const auto first = [half](int m) { return m - m % (2 * half); };  // of its block
    results.emplace_back([=](int m, int n) { return at(x, first(m) + (is_upper(m) ? half : 2 * half) - 1, n); });
    results.emplace_back([=](int m, int n) { return at(is_upper(m) ? x : y, m, n); });
    results.emplace_back([=](int m, int n) { return is_upper(m) ? at(x, m, n) : 0; });
    results.emplace_back([=](int m, int n) { return is_upper(m) ? 0 : at(x, m, n); });
  }
  Values expected;
  for (const auto& result : results) {
    for (int i = 0; i < shape.size(); ++i) expected.push_back(result(i / columns, i % columns));
  }
  const char* names[] = {"f32", "f16", "bf16"};
  const char* name = names[dtype == DType::f32 ? 0 : dtype == DType::f16 ? 1 : 2];
  Launch launch{"strips", std::string("strips_") + name + "_" + std::to_string(rows) + "_" + std::to_string(columns)};
  launch.tensors = {Tensor(dtype, shape).set(x), Tensor(dtype, shape).set(y),
                    Tensor(DType::f32, {1, rows * static_cast<long long>(results.size()), 1, columns}),
                    Tensor(dtype, {1, rows, 1, 1}).set(numbers)};
  check(launch, {{2, expected, 1e-6}});
}

TEST(Strips, HaveTheTermsOfBlocks) {
  for (const auto& [rows, columns] : {std::pair{16, 64}, std::pair{32, 32}}) {
    const Shape shape{1, rows, 1, columns};
    const Values x = rounded(DType::f16, normal(shape.size(), 1));
    Launch launch{"strips", "strips_bf16x3_" + std::to_string(rows) + "_" + std::to_string(columns)};
    launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape)};
    check(launch, {{1, x, 0}});
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Strips,
                         testing::Values(Strip{DType::bf16, 16, 32}, Strip{DType::bf16, 16, 64},
                                         Strip{DType::f16, 16, 128}, Strip{DType::f32, 16, 64},
                                         Strip{DType::bf16, 32, 32}, Strip{DType::f16, 64, 64}));

}  // namespace
}  // namespace wkvc::test
