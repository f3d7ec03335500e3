#include "check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace wkvc::test {

namespace {

Launch run_on(const Target& target, const Launch& launch) {
  Launch copy = launch;
  EXPECT_NO_THROW(target.run(copy)) << launch.entry;
  for (const Tensor& tensor : copy.tensors) EXPECT_TRUE(tensor.padding_is_untouched()) << launch.entry;
  return copy;
}

bool all_finite(const Values& x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

double relative_error(const Values& x, const Values& reference) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    difference += (x[i] - reference[i]) * (x[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

void check(const Launch& launch, const std::vector<Expected>& expected) {
  for (const Target* target : targets()) {
    SCOPED_TRACE(launch.entry + " on " + target->name());
    const Launch result = run_on(*target, launch);
    for (const Expected& e : expected) {
      const Values got = result.tensors[e.tensor].values();
      ASSERT_EQ(got.size(), e.values.size());
      EXPECT_TRUE(all_finite(got)) << "tensor " << e.tensor << " is not finite";
      EXPECT_LE(relative_error(got, e.values), e.tolerance) << "tensor " << e.tensor;
    }
  }
}

void check_elements(const Launch& launch, int tensor, const Values& expected, double tolerance) {
  for (const Target* target : targets()) {
    SCOPED_TRACE(launch.entry + " on " + target->name());
    const Values got = run_on(*target, launch).tensors[tensor].values();
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_LE(std::abs(got[i] - expected[i]), tolerance * std::abs(expected[i]))
          << "element " << i << ": " << got[i] << ", expected " << expected[i];
    }
  }
}

Values normal(long long count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> distribution;
  Values values(count);
  for (double& v : values) v = distribution(engine);
  return values;
}

Values transposed(const Values& x, int rows, int columns) {
  Values y(x.size());
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) y[j * rows + i] = x[i * columns + j];
  }
  return y;
}

Values uniform(long long count, double low, double high, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  Values values(count);
  for (double& v : values) v = distribution(engine);
  return values;
}

Values rounded(DType dtype, Values values) {
  for (double& v : values) v = rounded(dtype, v);
  return values;
}

}  // namespace wkvc::test
