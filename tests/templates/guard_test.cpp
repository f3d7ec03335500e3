#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check.h"

namespace wkvc::test {
namespace {

struct Heads {
  const char* kernel;
  DType dtype;
  int columns;
  int cluster = 1;
};

// Three heads of which the second is changed.
class GuardTest : public testing::TestWithParam<Heads> {
 protected:
  Values x, d, state;
  Shape shape{1, 50, 3, 64};

  void SetUp() override {
    shape.columns = GetParam().columns;
    x = normal(shape.size(), 1);
    d = normal(shape.size(), 2);
    for (double& value : x) value = std::min(std::max(value, -4.), 4.);
    state = normal(state_shape().size(), 3);
  }
  Shape state_shape() const { return {1, 16, 3, shape.columns}; }

  void scale(Values& values, double factor) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (static_cast<int>(i) / shape.columns % shape.heads == 1) values[i] *= factor;
  }
  // Element `column` of a token, or row, of the second head.
  double& at(Values& values, long long row, int column) const {
    return values[static_cast<std::size_t>((row * shape.heads + 1) * shape.columns + column)];
  }

  // The powers of two next below the largest of the sample that largest_of_sample looks at.
  Values units() const {
    Values units;
    for (int head = 0; head < 3; ++head) {
      double largest = 0;
      for (int n = 0; n < 8; ++n)
        for (int lane = 0; lane < 32; ++lane) {
          const long long token = shape.rows - 1 - n * ((shape.rows - 1) / 7);
          const int column = lane % GetParam().columns + (shape.columns > 32 ? n % 2 * 32 : 0);
          const double value = d[static_cast<std::size_t>((token * 3 + head) * shape.columns + column)];
          largest = std::max(largest, std::abs(rounded(GetParam().dtype, value)));
        }
      units.push_back(std::exp2(std::floor(std::log2(largest))));
    }
    return units;
  }

  // `refuses`: the second head.
  void expect(bool refuses) const {
    const DType dtype = GetParam().dtype;
    const Shape each{1, 1, 3, 1};
    const int cluster = GetParam().cluster;
    Launch launch{"guard", GetParam().kernel, GetParam().columns / 16 / cluster, 16 * 1024, 1, shape.rows, 3, {}};
    launch.cluster = cluster;
    launch.tensors = {Tensor(dtype, shape, 0).set(rounded(dtype, x)),
                      Tensor(dtype, shape, 0).set(rounded(dtype, d)),
                      Tensor(DType::f32, each),
                      Tensor(DType::f32, each),
                      Tensor(dtype, shape, 0),
                      Tensor(DType::f32, state_shape()).set(state)};
    check(launch, {{2, {0, refuses ? 1. : 0., 0}, 0}});
    if (!refuses) check(launch, {{3, units(), 0}});
  }
};

TEST_P(GuardTest, TakesWhatIsOrdinary) { expect(false); }

TEST_P(GuardTest, RefusesSmallInputs) {
  scale(x, 1e-3);
  expect(true);
}
TEST_P(GuardTest, RefusesZeros) {
  scale(x, 0);
  expect(true);
}
TEST_P(GuardTest, TakesGradientsOfAnySize) {
  scale(d, 1e-20);
  expect(false);
  scale(d, 1e35);
  expect(false);
}
TEST_P(GuardTest, RefusesGradientsThatHaveNoUnit) {
  scale(d, 0);
  expect(true);
}
// One alone does not count where it is not in the sample.
TEST_P(GuardTest, LooksAtTheLastToken) {
  scale(x, 0);
  for (int column = 0; column < GetParam().columns; ++column) at(x, shape.rows - 1, column) = 1;
  expect(false);
}
// 2^100·x² is infinite.
TEST_P(GuardTest, SeesOneElementThatIsNotFinite) {
  for (const auto& [token, column] : {std::pair{0, 0}, {17, 9}, {49, GetParam().columns - 1}}) {
    const double before = at(x, token, column);
    at(x, token, column) = 0x1p15;
    expect(true);
    at(x, token, column) = before;
  }
  at(x, 20, 3) = std::numeric_limits<double>::quiet_NaN();
  expect(true);
}
TEST_P(GuardTest, SeesAStateThatIsNotFinite) {
  for (const auto& [row, column] : {std::pair{0, 0}, {15, GetParam().columns - 1}}) {
    const double before = at(state, row, column);
    at(state, row, column) = std::numeric_limits<double>::infinity();
    expect(true);
    at(state, row, column) = before;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GuardTest,
                         testing::Values(Heads{"guard_bf16_64", DType::bf16, 64}, Heads{"guard_f32_32", DType::f32, 32},
                                         Heads{"guard_bf16_16", DType::bf16, 16},
                                         Heads{"guard_of_cluster", DType::bf16, 64, 2}),
                         [](const auto& heads) { return heads.param.kernel; });

}  // namespace
}  // namespace wkvc::test
