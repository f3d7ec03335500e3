#include <gtest/gtest.h>

#include "check.h"

namespace wkvc::test {
namespace {

struct Case {
  DType dtype;
  int warps, n, k;
  bool transposed;
};

class GroupMma : public testing::TestWithParam<Case> {};

TEST_P(GroupMma, MatchesDoubles) {
  const auto [dtype, warps, n, k, trans] = GetParam();
  const int m = 16 * warps;
  const Values a = rounded(dtype, normal(m * k, 1)), b = rounded(dtype, normal(n * k, 2));
  Values once(m * n), twice(m * n), other(m * n);
  for (int i = 0; i < m * n; ++i) {
    double sum = 0;
    for (int j = 0; j < k; ++j) sum += a[i / n * k + j] * b[i % n * k + j];
    once[i] = 1 + sum, twice[i] = 1 + 2 * sum, other[i] = 2 + sum;
  }
  Values expected = once;
  expected.insert(expected.end(), twice.begin(), twice.end());
  expected.insert(expected.end(), other.begin(), other.end());
  const auto tensor = [&](const Values& x, int rows, int columns) {
    return Tensor(dtype, Shape{1, rows, 1, columns}).set(x);
  };
  Launch launch{"group_mma", std::string("group_mma_") + (dtype == DType::f16 ? "f16" : "bf16") + "_" +
                                 std::to_string(warps) + "_" + std::to_string(n) + "_" + std::to_string(k) + "_" +
                                 (trans ? "1" : "0")};
  launch.warps = warps;
  launch.shared_bytes = 128 * 1024;
  launch.tensors = {tensor(a, m, k), tensor(b, n, k), tensor(transposed(b, n, k), k, n),
                    Tensor(DType::f32, Shape{1, 3 * m, 1, n})};
  check(launch, {{3, expected, 1e-6}});
}

INSTANTIATE_TEST_SUITE_P(All, GroupMma,
                         testing::Values(Case{DType::f16, 4, 16, 128, false}, Case{DType::f16, 8, 32, 128, false},
                                         Case{DType::bf16, 4, 16, 64, false}, Case{DType::f16, 4, 64, 16, true},
                                         Case{DType::bf16, 8, 192, 32, true}, Case{DType::f16, 4, 128, 16, true},
                                         Case{DType::f16, 8, 256, 16, true}, Case{DType::bf16, 4, 128, 32, true}));

}  // namespace
}  // namespace wkvc::test
