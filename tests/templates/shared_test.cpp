#include <gtest/gtest.h>

#include <cmath>

#include "check.h"
#include "wkvc/host/convert.h"

namespace wkvc::test {
namespace {

Values transposed(const Values& x, int rows, int columns) {
  Values y(x.size());
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) y[j * rows + i] = x[i * columns + j];
  }
  return y;
}

// Slabs of 16 rows in reverse order.
Values slabs_reversed(const Values& x, int columns) {
  Values y;
  for (auto end = x.end(); end != x.begin(); end -= 16 * columns) y.insert(y.end(), end - 16 * columns, end);
  return y;
}

void append(Values& to, const Values& x, int times) {
  while (times-- > 0) to.insert(to.end(), x.begin(), x.end());
}

// `dtype`: as tensors store it. f16's digits are all that tf32 has; two terms have more.
void check_moves(DType dtype, const std::string& name, int rows, int columns) {
  const Shape shape{1, rows, 1, columns};
  const bool of_terms = name == "bf16x3" || name == "f16x2";
  const Values x = rounded(name == "tf32" || of_terms ? DType::f16 : dtype, normal(shape.size(), 1));
  Values straight, turned;
  append(straight, x, 4);
  append(straight, slabs_reversed(x, columns), 1);
  append(turned, transposed(x, rows, columns), 3);
  Launch launch{"shared", "shared_" + name + "_" + std::to_string(rows) + "_" + std::to_string(columns)};
  launch.tensors = {Tensor(dtype, shape).set(x), Tensor(DType::f32, {1, 5 * rows, 1, columns}),
                    Tensor(DType::f32, {1, 3 * columns, 1, rows})};
  check(launch, {{1, straight, 0}, {2, turned, 0}});
}

TEST(Shared, MovesTilesExactly) {
  check_moves(DType::f32, "f32", 16, 16);
  check_moves(DType::f32, "f32", 32, 64);
  check_moves(DType::f32, "tf32", 32, 64);
  check_moves(DType::f32, "bf16x3", 16, 16);
  check_moves(DType::f32, "bf16x3", 32, 64);
  check_moves(DType::f32, "bf16x3", 128, 32);
  check_moves(DType::f32, "f16x2", 16, 16);
  check_moves(DType::f32, "f16x2", 32, 64);
  check_moves(DType::f16, "f16", 16, 16);
  check_moves(DType::f16, "f16", 32, 64);
  check_moves(DType::f16, "f16", 128, 32);
  check_moves(DType::bf16, "bf16", 64, 32);
  check_moves(DType::bf16, "bf16", 16, 128);
}

double scale_of(double largest) { return std::exp2(std::floor(std::log2(largest)) - 7); }

void check_rounding(DType dtype, const std::string& name, double magnitude) {
  const Shape shape{1, 16, 1, 64};
  Values x = normal(shape.size(), 1);
  for (double& v : x) v *= magnitude;
  x = rounded(DType::f32, x);
  double largest = 0;
  for (const double v : x) largest = std::max(largest, std::abs(v));
  const double scale = scale_of(largest);
  const auto scaled = [&](double s) {
    Values y;
    for (const double v : x) y.push_back(rounded(dtype, v / s) * s);
    return y;
  };
  Values expected;
  for (const double s : {1.0, scale, 0.5, scale}) append(expected, scaled(s), 1);
  Launch launch{"shared", "round_" + name};
  launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, {1, 64, 1, 64}),
                    Tensor(DType::f32, {1, 16, 1, 16})};
  check(launch, {{1, expected, 0}, {2, Values(256, scale), 0}});
}

TEST(Round, ScalesAndRoundsToEven) {
  for (const double magnitude : {1.0, 1e-3, 300.0}) {
    check_rounding(DType::f32, "f32", magnitude);
    check_rounding(DType::f16, "f16", magnitude);
    check_rounding(DType::bf16, "bf16", magnitude);
  }
}

// Out of f16's range, the scaled tile is as good as any other.
TEST(Round, ScaleKeepsHugeAndTinyTiles) {
  for (const double magnitude : {0.0, 1e-42, 1e-30, 1e-20, 1e20, 1e38}) {
    const Shape shape{1, 16, 1, 64};
    const Values x = rounded(DType::f32, Values(shape.size(), magnitude));
    Launch launch{"shared", "round_f16"};
    launch.tensors = {Tensor(DType::f32, shape).set(x), Tensor(DType::f32, {1, 64, 1, 64}),
                      Tensor(DType::f32, {1, 16, 1, 16})};
    for (const Target* target : targets()) {
      SCOPED_TRACE(target->name());
      Launch run = launch;
      target->run(run);
      const double scale = run.tensors[2].values()[0], got = run.tensors[1].values()[shape.size()];
      EXPECT_TRUE(std::isnormal(scale)) << scale;
      // Subnormal f32 may be flushed to zero.
      EXPECT_NEAR(got, x[0], std::max(std::abs(x[0]) * 0x1p-11, 0x1p-126)) << magnitude;
    }
  }
}

// Every 16-bit pattern survives a round trip, and rounding agrees with the distance to its neighbours.
TEST(Convert, AllPatternsOfF16) {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float x = host::widen_f16(pattern), next = host::widen_f16(static_cast<std::uint16_t>(bits + 1));
    ASSERT_EQ(host::round_f16(x), pattern);
    ASSERT_EQ(host::round_f16(-x), pattern | 0x8000u);
    if (bits + 1 == 0x7c00) break;
    const float middle = (x + next) / 2;  // exact
    ASSERT_EQ(host::round_f16(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(host::round_f16(std::nextafter(middle, 1e9f)), bits + 1);
    ASSERT_EQ(host::round_f16(std::nextafter(middle, -1e9f)), bits);
  }
}

TEST(Convert, ExtremesOfF16) {
  EXPECT_EQ(host::round_f16(65519.f), 0x7bff);
  EXPECT_EQ(host::round_f16(65520.f), 0x7c00);
  EXPECT_TRUE(std::isnan(host::widen_f16(host::round_f16(NAN))));
  EXPECT_TRUE(std::isinf(host::widen_f16(host::round_f16(INFINITY))));
  EXPECT_TRUE(std::isnan(host::widen_bf16(host::round_bf16(NAN))));
  EXPECT_EQ(host::widen_f16(0x0001), 0x1p-24f);
}

TEST(Convert, Bf16RoundsToEven) {
  EXPECT_EQ(host::widen_bf16(host::round_bf16(1.f + 0x1p-8f)), 1.f);
  EXPECT_EQ(host::widen_bf16(host::round_bf16(1.f + 0x3p-8f)), 1.f + 0x1p-6f);
  EXPECT_EQ(host::widen_bf16(host::round_bf16(1.f + 0x1.01p-8f)), 1.f + 0x1p-7f);
}

}  // namespace
}  // namespace wkvc::test
