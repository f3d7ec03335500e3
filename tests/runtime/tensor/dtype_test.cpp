#include "runtime/tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace wkvc {
namespace {

double decode(DType dtype, std::uint16_t code) { return load_element(dtype, &code, 0); }

std::uint16_t encode(DType dtype, double value) {
  std::uint16_t code = 0;
  store_element(dtype, &code, 0, value);
  return code;
}

class SixteenBits : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DType, SixteenBits, ::testing::Values(DType::f16, DType::bf16),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_P(SixteenBits, EveryCodeSurvivesARoundTrip) {
  for (int code = 0; code <= 0xffff; ++code) {
    const double value = decode(GetParam(), static_cast<std::uint16_t>(code));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(decode(GetParam(), encode(GetParam(), value)))) << code;
    } else {
      EXPECT_EQ(encode(GetParam(), value), code);
    }
  }
}

TEST_P(SixteenBits, RoundsToTheNearestAndTiesToEven) {
  const std::uint16_t infinity = encode(GetParam(), std::numeric_limits<double>::infinity());
  for (std::uint16_t code = 0; code + 1 < infinity; ++code) {
    const auto next = static_cast<std::uint16_t>(code + 1);
    const double low = decode(GetParam(), code), high = decode(GetParam(), next);
    const double middle = (low + high) / 2;  // exact in double
    EXPECT_EQ(encode(GetParam(), middle), code % 2 == 0 ? code : next);
    EXPECT_EQ(encode(GetParam(), std::nextafter(middle, low)), code);
    EXPECT_EQ(encode(GetParam(), std::nextafter(middle, high)), next);
    EXPECT_EQ(encode(GetParam(), -middle), (code % 2 == 0 ? code : next) | 0x8000);
  }
}

TEST_P(SixteenBits, BecomesInfiniteHalfAStepBeyondTheLargest) {
  const std::uint16_t infinity = encode(GetParam(), std::numeric_limits<double>::infinity());
  const auto largest = static_cast<std::uint16_t>(infinity - 1);
  const double step = decode(GetParam(), largest) - decode(GetParam(), static_cast<std::uint16_t>(largest - 1));
  const double edge = decode(GetParam(), largest) + step / 2;
  EXPECT_EQ(encode(GetParam(), std::nextafter(edge, 0)), largest);
  EXPECT_EQ(encode(GetParam(), edge), infinity);
  EXPECT_EQ(encode(GetParam(), 1e308), infinity);
  EXPECT_EQ(encode(GetParam(), -1e308), infinity | 0x8000);
  EXPECT_EQ(encode(GetParam(), 1e-320), 0);
  EXPECT_EQ(encode(GetParam(), -0.0), 0x8000);
}

TEST(DTypes, Bf16IsTheUpperHalfOfF32) {
  for (int code = 0; code <= 0xffff; ++code) {
    const auto expected = std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
    const double value = decode(DType::bf16, static_cast<std::uint16_t>(code));
    EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << code;
  }
}

TEST(DTypes, F16KnowsItsLandmarks) {
  EXPECT_EQ(decode(DType::f16, 0x3c00), 1.0);
  EXPECT_EQ(decode(DType::f16, 0xc000), -2.0);
  EXPECT_EQ(decode(DType::f16, 0x7bff), 65504.0);
  EXPECT_EQ(decode(DType::f16, 0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(decode(DType::f16, 0x0400), std::ldexp(1.0, -14));
  EXPECT_EQ(decode(DType::f16, 0xfc00), -std::numeric_limits<double>::infinity());
}

TEST(DTypes, DoubleIsRoundedOnceNotThroughFloat) {
  // Just above a tie of bf16, by less than a float resolves.
  EXPECT_EQ(encode(DType::bf16, 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)), 0x3f81);
}

TEST(DTypes, NamesAndSizes) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) EXPECT_EQ(dtype_from(name_of(dtype)), dtype);
  EXPECT_EQ(dtype_from("float"), std::nullopt);
  EXPECT_EQ(size_of(DType::f32), 4U);
  EXPECT_EQ(size_of(DType::bf16), 2U);
}

TEST(DTypes, F32ElementsAreAddressedByIndex) {
  float values[3] = {1, 2, 3};
  store_element(DType::f32, values, 1, 0.1);
  EXPECT_EQ(load_element(DType::f32, values, 1), static_cast<double>(0.1F));
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[2], 3);
}

}  // namespace
}  // namespace wkvc
