// Scalars: conversions and the elementary functions. f32 throughout.
#pragma once

#include <bit>
#include <cmath>

#include "wkvc/common/dtype.h"

#define WKVC_INLINE inline
#define WKVC_UNROLL

namespace wkvc::scalar {

inline u32 bits_of(float x) { return std::bit_cast<u32>(x); }
inline float float_of(u32 bits) { return std::bit_cast<float>(bits); }

inline float exp(float x) { return std::exp(x); }
inline float log(float x) { return std::log(x); }
inline float log1p(float x) { return std::log1p(x); }
inline float tanh(float x) { return std::tanh(x); }
inline float sqrt(float x) { return std::sqrt(x); }
inline float reciprocal(float x) { return 1.f / x; }
inline float abs(float x) { return std::fabs(x); }
inline float max(float x, float y) { return std::fmax(x, y); }
inline float min(float x, float y) { return std::fmin(x, y); }

inline float widen(float x) { return x; }
inline float widen(bf16 x) { return float_of(static_cast<u32>(x.bits) << 16); }
inline float widen(f16 x) {
  const u32 sign = static_cast<u32>(x.bits & 0x8000u) << 16, magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);  // infinity, NaN
  // Seen as an f32 its exponent is 112 too small; the product is exact and takes care of subnormal numbers.
  const float value = float_of(magnitude << 13) * 0x1p112f;
  return float_of(sign | bits_of(value));
}

inline f16 round_f16(float x) {
  const u32 sign = bits_of(x) >> 16 & 0x8000u;
  const float magnitude = std::fabs(x);
  if (std::isnan(x)) return f16{static_cast<unsigned short>(sign | 0x7fffu)};
  if (magnitude >= 65520.f) return f16{static_cast<unsigned short>(sign | 0x7c00u)};
  if (magnitude < 0x1p-14f) {  // subnormal: adding 2^-1 rounds to multiples of 2^-24, f16's last bit there
    return f16{static_cast<unsigned short>(sign | (bits_of(magnitude + 0.5f) - bits_of(0.5f)))};
  }
  const u32 bits = bits_of(magnitude) - (112u << 23);
  return f16{static_cast<unsigned short>(sign | (bits + 0xfffu + (bits >> 13 & 1u)) >> 13)};
}

inline bf16 round_bf16(float x) {
  const u32 bits = bits_of(x);
  if (std::isnan(x)) return bf16{0x7fff};
  return bf16{static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

template <class T>
T round(float x) {
  if constexpr (is_same<T, f32>) {
    return x;
  } else if constexpr (is_same<T, f16>) {
    return round_f16(x);
  } else {
    return round_bf16(x);
  }
}

}  // namespace wkvc::scalar
