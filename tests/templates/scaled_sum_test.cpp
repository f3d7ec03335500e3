#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "check.h"

namespace wkvc::test {
namespace {

// s·diag(e) + v·k, as the kernels in kernels/scaled_sum.cu take it.
Values next(const Values& s, const Values& v, const Values& k) {
  const std::size_t columns = s.size() / 16;
  Values sum = s;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t t = 0; t < 16; ++t) {
      for (std::size_t j = 0; j < columns; ++j) sum[i * columns + j] += v[i * 16 + t] * k[t * columns + j];
    }
  }
  return sum;
}

// Sums that begin with one magnitude, to which two products of others are added; `decay` times what was there.
void check_magnitudes(int columns, double first, std::initializer_list<double> products, double decay = 0.5) {
  const Shape shape{1, 16, 1, columns}, square{1, 16, 1, 16};
  Values s = times(normal(shape.size(), 1), first);
  Launch launch{"scaled_sum", "scaled_sum_" + std::to_string(columns), 1, 0x2010};
  launch.tensors.push_back(Tensor(DType::f32, shape).set(s));
  std::vector<Expected> results;
  unsigned seed = 2;
  for (const double product : products) {
    Values e = normal(columns, seed++), all;
    for (double& each : e) each = rounded(DType::f32, decay * (1 + 0.2 * each));
    for (int i = 0; i < 16; ++i) all.insert(all.end(), e.begin(), e.end());
    const Values v = times(normal(square.size(), seed++), product),
                 k = rounded(DType::f32, normal(shape.size(), seed++));
    launch.tensors.push_back(Tensor(DType::f32, shape).set(all));
    launch.tensors.push_back(Tensor(DType::f32, square).set(v));
    launch.tensors.push_back(Tensor(DType::f32, shape).set(k));
    for (std::size_t i = 0; i < s.size(); ++i) s[i] *= all[i];
    const int n = static_cast<int>(results.size());
    results.push_back({7 + n, s, 4e-4});
    s = next(s, v, k);
    results.push_back({8 + n, s, 4e-4});
  }
  for (std::size_t n = 0; n < results.size(); ++n) launch.tensors.push_back(Tensor(DType::f32, shape));
  check(launch, results);
}

// What is added to rows that are small beside the largest one is not lost.
TEST(ScaledSums, KeepRowsBesideALargerOne) {
  const Shape shape{1, 16, 1, 16};
  Values s(256), v(256), k = uniform(256, 0.5, 1, 1), ones(256, 1), none(256);
  for (int i = 0; i < 256; ++i) (i < 16 ? s : v)[i] = i < 16 ? 1 : std::ldexp(1 + i % 7, -30);
  Launch launch{"scaled_sum", "scaled_sum_16", 1, 0x2010};
  for (const Values& input : {s, ones, none, none, ones, v, rounded(DType::f32, k)})
    launch.tensors.push_back(Tensor(DType::f32, shape).set(input));
  for (int n = 0; n < 4; ++n) launch.tensors.push_back(Tensor(DType::f32, shape));
  check_elements(launch, 10, next(s, v, rounded(DType::f32, k)), 1e-3);
}

// Whatever the magnitudes: contractions are added up as they are.
TEST(ScaledSums, HaveOneScaleWithWhatIsAdded) {
  const Shape state{1, 16, 1, 64}, square{1, 16, 1, 16};
  for (const auto& [of_s, of_v, of_k] : std::initializer_list<std::array<double, 3>>{{1, 1, 1},
                                                                                     {0, 1, 1},
                                                                                     {1, 0, 1},
                                                                                     {1e-20, 1, 1e-3},
                                                                                     {1e20, 1e-3, 1},
                                                                                     {1, 1e6, 1e-12},
                                                                                     {1e-6, 1e-9, 1e9},
                                                                                     {1, 1, 0},
                                                                                     {0, 0, 0}}) {
    const Values s = times(normal(state.size(), 1), of_s), v = times(normal(square.size(), 2), of_v),
                 k = times(normal(state.size(), 3), of_k);
    Values o(square.size()), sum = next(s, v, k);
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t t = 0; t < 16; ++t) {
        for (std::size_t j = 0; j < 64; ++j) o[i * 16 + t] += sum[i * 64 + j] * k[t * 64 + j];
      }
    }
    for (const char* kernel : {"same_scale", "shared_scale"}) {
      Launch launch{"scaled_sum", kernel, 1, 0x2010};
      launch.tensors = {Tensor(DType::f32, state).set(s), Tensor(DType::f32, square).set(v),
                        Tensor(DType::f32, state).set(k), Tensor(DType::f32, square), Tensor(DType::f32, state)};
      check(launch, {{3, o, 5e-4}, {4, sum, 5e-4}});
    }
  }
}

TEST(ScaledSums, FollowTheirMagnitude) {
  for (const int columns : {16, 64}) {
    check_magnitudes(columns, 1, {1, 1});
    check_magnitudes(columns, 0, {1, 1});
    check_magnitudes(columns, 0, {0, 1e-3});
    check_magnitudes(columns, 1e-30, {1, 1e-3});
    check_magnitudes(columns, 1, {1e6, 1});
    check_magnitudes(columns, 1e30, {1, 1e-30});
    check_magnitudes(columns, 1, {1e-12, 1e12});
    check_magnitudes(columns, 1e-30, {1e-32, 1e30});
    check_magnitudes(columns, 1e-25, {0, 1e-25});
    check_magnitudes(columns, 1, {1e-8, 1e-16}, 1e-8);
    check_magnitudes(columns, 1, {1, 1}, 1e6);
  }
}

}  // namespace
}  // namespace wkvc::test
