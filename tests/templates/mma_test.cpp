#include <gtest/gtest.h>

#include <tuple>

#include "check.h"

namespace wkvc::test {
namespace {

struct Operands {
  const char* name;
  DType dtype;
  double tolerance;
};

using Sizes = std::tuple<int, int, int>;

class Mma : public testing::TestWithParam<std::tuple<Operands, Sizes>> {};

TEST_P(Mma, MatchesDoubles) {
  const auto& [operands, sizes] = GetParam();
  const auto [m, n, k] = sizes;
  const DType dtype = operands.dtype;
  const Values a = rounded(dtype, normal(m * k, 1)), b = rounded(dtype, normal(n * k, 2));
  Values once(m * n, 1.0);
  for (int i = 0; i < m * n; ++i) {
    for (int j = 0; j < k; ++j) once[i] += a[i / n * k + j] * b[i % n * k + j];
  }
  Values expected;
  constexpr int kVariants = 8;
  for (int i = 0; i < kVariants; ++i) expected.insert(expected.end(), once.begin(), once.end());
  const auto tensor = [&](const Values& x, int rows, int columns) {
    return Tensor(dtype, Shape{1, rows, 1, columns}).set(x);
  };
  Launch launch{"mma", std::string("mma_") + operands.name + "_" + std::to_string(m) + "_" + std::to_string(n) + "_" +
                           std::to_string(k)};
  launch.shared_bytes = 128 * 1024;
  launch.tensors = {tensor(a, m, k), tensor(b, n, k), tensor(transposed(a, m, k), k, m),
                    tensor(transposed(b, n, k), k, n), Tensor(DType::f32, Shape{1, kVariants * m, 1, n})};
  check(launch, {{4, expected, operands.tolerance}});
}

// Products of 16-bit operands are exact in f32. Three products of tf32 halves leave 2^-22 of an operand.
constexpr Operands kF16{"f16", DType::f16, 1e-6}, kBf16{"bf16", DType::bf16, 1e-6}, kF32{"f32", DType::f32, 1e-6};

INSTANTIATE_TEST_SUITE_P(All, Mma,
                         testing::Combine(testing::Values(kF16, kBf16, kF32),
                                          testing::Values(Sizes{16, 16, 16}, Sizes{16, 64, 16}, Sizes{16, 16, 64},
                                                          Sizes{48, 32, 16})));
INSTANTIATE_TEST_SUITE_P(Square, Mma, testing::Values(std::tuple{kF16, Sizes{64, 64, 32}}));

}  // namespace
}  // namespace wkvc::test
