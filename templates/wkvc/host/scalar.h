// Scalars: conversions and the elementary functions. f32 throughout.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "wkvc/common/dtype.h"
#include "wkvc/host/convert.h"

#define WKVC_INLINE inline
#define WKVC_OUTLINE inline
#define WKVC_UNROLL
#define WKVC_NO_UNROLL
#define WKVC_INLINE_LAMBDA

namespace wkvc::scalar {

inline u32 bits_of(float x) { return std::bit_cast<u32>(x); }
inline float float_of(u32 bits) { return std::bit_cast<float>(bits); }

inline float expected(bool holds, float x) { return holds ? x : std::numeric_limits<float>::quiet_NaN(); }

inline float exp(float x) { return std::exp(x); }
inline float exp2(float x) { return std::exp2(x); }
inline float log(float x) { return std::log(x); }
inline float log1p(float x) { return std::log1p(x); }
inline float tanh(float x) { return std::tanh(x); }
inline float sqrt(float x) { return std::sqrt(x); }
inline float reciprocal(float x) { return 1.f / x; }
inline float abs(float x) { return std::fabs(x); }
inline float max(float x, float y) { return std::fmax(x, y); }
inline float min(float x, float y) { return std::fmin(x, y); }
inline float finite_abs(float x) { return std::isfinite(x) ? std::fabs(x) : 0.f; }  // else 0
inline float max_or_nan(float x, float y) { return x < y ? y : x; }                 // NaN if x is

inline float widen(float x) { return x; }
inline float widen(tf32 x) { return x.value; }
inline float widen(bf16 x) { return host::widen_bf16(x.bits); }
inline float widen(f16 x) { return host::widen_f16(x.bits); }
template <TwoTerms T>
float widen(T x) {
  return widen(TermOf<T>{x.high}) + widen(TermOf<T>{x.low});
}

template <class T>
T round(float x) {
  if constexpr (is_same<T, f32>) {
    return x;
  } else if constexpr (is_same<T, tf32>) {
    return tf32{host::round_tf32(x)};
  } else if constexpr (TwoTerms<T>) {
    const auto high = round<TermOf<T>>(x);
    return T{high.bits, round<TermOf<T>>(x - widen(high)).bits};
  } else if constexpr (is_same<T, f16>) {
    return f16{host::round_f16(x)};
  } else {
    return bf16{host::round_bf16(x)};
  }
}

}  // namespace wkvc::scalar
