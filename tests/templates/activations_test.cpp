#include <gtest/gtest.h>

#include <cmath>

#include "check.h"

namespace wkvc::test {
namespace {

constexpr double kUlp = 0x1p-23;

// Element by element on [low, high], and at the extremes the values must stay finite.
void check_function(const std::string& name, double (*f)(double), double low, double high, double ulps) {
  const Shape shape{1, 16, 1, 64};
  Values x = rounded(DType::f32, uniform(shape.size(), low, high, 1));
  x[0] = rounded(DType::f32, low);
  x[1] = rounded(DType::f32, high);
  Values expected;
  for (const double v : x) expected.push_back(f(v));
  Launch launch{"activations", "activation_" + name};
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape)};
  check_elements(launch, 1, expected, ulps * kUlp);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double relu(double x) { return std::max(x, 0.0); }
double reciprocal(double x) { return 1 / x; }

TEST(Activations, AreAccurateNearZero) {
  check_function("exp", std::exp, -2, 2, 4);
  check_function("exp2", std::exp2, -2, 2, 4);
  check_function("log", std::log, 0.5, 4, 4);
  check_function("sigmoid", sigmoid, -4, 4, 6);
  check_function("tanh", std::tanh, -1e-3, 1e-3, 4);
  check_function("softplus", softplus, -4, 4, 6);
  check_function("relu", relu, -1, 1, 0);
  check_function("sqrt", std::sqrt, 0, 10, 4);
  check_function("reciprocal", reciprocal, 0.1, 10, 4);
}

// exp(x) is as good as x·log2(e) in f32: relative error |x|·2^-23 and a little.
TEST(Activations, AreAccurateFarOut) {
  check_function("exp", std::exp, -87, 88, 100);
  check_function("exp2", std::exp2, -125, 127, 4);
  check_function("log", std::log, 1e-30, 1e30, 4);
  check_function("sigmoid", sigmoid, -80, 80, 100);
  check_function("tanh", std::tanh, -20, 20, 4);
  check_function("softplus", softplus, -80, 80, 100);
}

TEST(Activations, StayFinite) {
  const Shape shape{1, 16, 1, 64};
  Values x(shape.size(), -1e30), ones(shape.size(), 1.0);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = 1e30;
  x = rounded(DType::f32, x);
  const auto expect = [&](const std::string& name, double (*f)(double)) {
    Values expected;
    for (const double v : x) expected.push_back(f(v));
    Launch launch{"activations", "activation_" + name};
    launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, shape)};
    check(launch, {{1, expected, 1e-6}});
  };
  expect("sigmoid", sigmoid);
  expect("tanh", std::tanh);
  expect("softplus", softplus);
  expect("relu", relu);
}

}  // namespace
}  // namespace wkvc::test
