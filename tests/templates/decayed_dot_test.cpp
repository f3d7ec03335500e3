#include <gtest/gtest.h>

#include <cmath>

#include "check.h"

namespace wkvc::test {
namespace {

// Decays of up to e^-200 a token: any exponent of the wrong sign would overflow.
void check_decayed(DType dtype, const std::string& name, int c, int k) {
  const Shape shape{1, c, 1, k};
  const Values x = rounded(dtype, normal(shape.size(), 1)), y = rounded(dtype, normal(shape.size(), 2));
  Values log_w = uniform(shape.size(), -3, 0, 3), l(shape.size());
  for (int i = 0; i < shape.size(); ++i) {
    l[i] = (i >= k ? l[i - k] : 0) + (i % 7 == 0 ? 60 * log_w[i] : log_w[i]);
  }
  l = rounded(DType::f32, l);
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

}  // namespace
}  // namespace wkvc::test
