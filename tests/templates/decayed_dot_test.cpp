#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "check.h"

namespace wkvc::test {
namespace {

// Decays of up to e^-200 a token: any exponent of the wrong sign would overflow.
Values running_decays(int c, int k) {
  const Values log_w = uniform(c * k, -3, 0, 3);
  Values l(c * k);
  for (int i = 0; i < c * k; ++i) {
    l[i] = (i >= k ? l[i - k] : 0) + (i % 7 == 0 ? 60 * log_w[i] : log_w[i]);
  }
  return rounded(DType::f32, l);
}

void check_decayed(DType dtype, const std::string& name, int c, int k) {
  const Shape shape{1, c, 1, k};
  const Values x = rounded(dtype, normal(shape.size(), 1)), y = rounded(dtype, normal(shape.size(), 2));
  const Values l = running_decays(c, k);
  Values expected;
  for (const bool inclusive : {false, true}) {
    for (int i = 0; i < c; ++i) {
      for (int j = 0; j < c; ++j) {
        double sum = 1;
        for (int d = 0; d < k && (j < i || (inclusive && j == i)); ++d) {
          sum += x[i * k + d] * y[j * k + d] * std::exp(l[i * k + d] - l[j * k + d]);
        }
        expected.push_back(sum);
      }
    }
  }
  Launch launch{"decayed_dot", "decayed_dot_" + name + "_" + std::to_string(c) + "_" + std::to_string(k)};
  launch.tensors = {Tensor(dtype, shape).set(x), Tensor(dtype, shape).set(y), Tensor(DType::f32, shape).set(l),
                    Tensor(DType::f32, shape).set(l), Tensor(DType::f32, {1, 2 * c, 1, c})};
  check(launch, {{4, expected, 2e-6}});
}

TEST(DecayedDot, MatchesDoubles) {
  check_decayed(DType::f32, "f32", 16, 64);
  check_decayed(DType::f16, "f16", 16, 16);
  check_decayed(DType::bf16, "bf16", 32, 64);
}

// Above its diagonal g is NaN.
void check_products(DType dtype, const std::string& name, int c, int k) {
  const Shape shape{1, c, 1, k};
  const Values x = rounded(dtype, normal(shape.size(), 1)), y = rounded(dtype, normal(shape.size(), 2));
  const Values l = running_decays(c, k);
  Values g = rounded(DType::f32, normal(c * c, 4)), expected;
  for (const bool inclusive : {false, true}) {
    Values left(shape.size(), 1), right = left;
    for (int i = 0; i < c; ++i) {
      for (int j = 0; j < c; ++j) {
        if (j > i) g[i * c + j] = std::numeric_limits<double>::quiet_NaN();
        for (int d = 0; d < k && (j < i || (inclusive && j == i)); ++d) {
          const double decayed = g[i * c + j] * std::exp(l[i * k + d] - l[j * k + d]);
          left[i * k + d] += decayed * y[j * k + d];
          right[j * k + d] += decayed * x[i * k + d];
        }
      }
    }
    expected.insert(expected.end(), left.begin(), left.end());
    expected.insert(expected.end(), right.begin(), right.end());
  }
  Launch launch{"decayed_dot", "decayed_vjp_" + name + "_" + std::to_string(c) + "_" + std::to_string(k)};
  launch.tensors = {Tensor(dtype, shape).set(x),
                    Tensor(dtype, shape).set(y),
                    Tensor(DType::f32, shape).set(l),
                    Tensor(DType::f32, shape).set(l),
                    Tensor(DType::f32, {1, c, 1, c}).set(g),
                    Tensor(DType::f32, {1, 4 * c, 1, k})};
  check(launch, {{5, expected, 2e-6}});
}

TEST(DecayedVjp, MatchesDoubles) {
  check_products(DType::f32, "f32", 16, 64);
  check_products(DType::f16, "f16", 16, 16);
  check_products(DType::bf16, "bf16", 32, 64);
}

}  // namespace
}  // namespace wkvc::test
