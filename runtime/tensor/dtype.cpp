#include "runtime/tensor/dtype.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/error.h"

namespace wkvc {
namespace {

// A 16-bit float with a sign bit, E exponent bits and M mantissa bits, laid out as IEEE 754 does.
template <int E, int M>
struct SmallFloat {
  static constexpr int min_exponent = 2 - (1 << (E - 1));  // of the smallest normal number
  static constexpr int infinity = ((1 << E) - 1) << M;

  static double decode(std::uint16_t code) {
    const int magnitude = code & 0x7fff;
    const int field = magnitude >> M;
    const int mantissa = magnitude & ((1 << M) - 1);
    const double sign = (code & 0x8000) != 0 ? -1.0 : 1.0;
    if (magnitude > infinity) return std::numeric_limits<double>::quiet_NaN();
    if (magnitude == infinity) return sign * std::numeric_limits<double>::infinity();
    if (field == 0) return sign * std::ldexp(mantissa, min_exponent - M);
    return sign * std::ldexp(mantissa + (1 << M), field - 1 + min_exponent - M);
  }

  static std::uint16_t encode(double value) {
    const int sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | (1 << (M - 1)));
    if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
    if (value == 0) return static_cast<std::uint16_t>(sign);  // it has no exponent
    int exponent = 0;
    std::frexp(value, &exponent);
    const int above_min = std::max(exponent - 1 - min_exponent, 0);
    // The value in units of its last place; rounding up to the next power of two carries into the exponent field.
    const double units = std::nearbyint(std::ldexp(std::fabs(value), M - min_exponent - above_min));
    const int magnitude = (above_min << M) + static_cast<int>(units);
    return static_cast<std::uint16_t>(sign | std::min(magnitude, infinity));
  }
};

using F16 = SmallFloat<5, 10>;
using BF16 = SmallFloat<8, 7>;

template <class T>
T load(const void* data, std::size_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void store(void* data, std::size_t i, T value) {
  std::memcpy(static_cast<char*>(data) + i * sizeof(T), &value, sizeof(T));
}

[[noreturn]] void not_a_dtype(DType dtype) { internal_error("{} is no DType", static_cast<int>(dtype)); }

}  // namespace

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
  }
  not_a_dtype(dtype);
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
  }
  not_a_dtype(dtype);
}

std::optional<DType> dtype_from(std::string_view name) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    if (name == name_of(dtype)) return dtype;
  }
  return std::nullopt;
}

double load_element(DType dtype, const void* data, std::size_t i) {
  switch (dtype) {
    case DType::f32:
      return load<float>(data, i);
    case DType::f16:
      return F16::decode(load<std::uint16_t>(data, i));
    case DType::bf16:
      return BF16::decode(load<std::uint16_t>(data, i));
  }
  not_a_dtype(dtype);
}

void store_element(DType dtype, void* data, std::size_t i, double value) {
  switch (dtype) {
    case DType::f32:
      return store(data, i, static_cast<float>(value));
    case DType::f16:
      return store(data, i, F16::encode(value));
    case DType::bf16:
      return store(data, i, BF16::encode(value));
  }
  not_a_dtype(dtype);
}

}  // namespace wkvc
