// Scalars: conversions and the elementary functions. f32 throughout.
#pragma once

#include "wkvc/common/dtype.h"
#include "wkvc/cuda/ptx.h"

namespace wkvc::scalar {

WKVC_INLINE u32 bits_of(float x) { return ptx::bits_of(x); }
WKVC_INLINE float float_of(u32 bits) { return ptx::float_of(bits); }

// x, where `holds` is true. The host target makes NaN of it elsewhere.
WKVC_INLINE float expected(bool /*holds*/, float x) { return x; }

// The error is that of rounding x once more, which is how well the exponent was known.
WKVC_INLINE float exp(float x) { return ptx::ex2(x * 1.44269504088896341f); }
WKVC_INLINE float exp2(float x) { return ptx::ex2(x); }
WKVC_INLINE float log(float x) { return ::logf(x); }
WKVC_INLINE float log1p(float x) { return ::log1pf(x); }
WKVC_INLINE float tanh(float x) { return ::tanhf(x); }
WKVC_INLINE float sqrt(float x) { return ptx::sqrt(x); }
WKVC_INLINE float reciprocal(float x) { return ptx::rcp(x); }
WKVC_INLINE float abs(float x) { return ::fabsf(x); }
WKVC_INLINE float max(float x, float y) { return ::fmaxf(x, y); }
WKVC_INLINE float min(float x, float y) { return ::fminf(x, y); }
WKVC_INLINE float finite_abs(float x) { return ::fabsf(x) <= 0x1.fffffep127f ? ::fabsf(x) : 0.f; }  // else 0
WKVC_INLINE float max_or_nan(float x, float y) { return ptx::max_or_nan(x, y); }                    // NaN if x is

WKVC_INLINE float widen(float x) { return x; }
WKVC_INLINE float widen(tf32 x) { return x.value; }
WKVC_INLINE float widen(f16 x) { return ptx::widen_f16(x.bits); }
WKVC_INLINE float widen(bf16 x) { return float_of(static_cast<u32>(x.bits) << 16); }

template <class T>
WKVC_INLINE T round(float x) {
  if constexpr (is_same<T, f32>) {
    return x;
  } else if constexpr (is_same<T, tf32>) {
    return tf32{ptx::round_tf32(x)};
  } else if constexpr (is_same<T, f16>) {
    return f16{static_cast<unsigned short>(ptx::pack_f16(x, 0.f))};
  } else {
    return bf16{static_cast<unsigned short>(ptx::pack_bf16(x, 0.f))};
  }
}

}  // namespace wkvc::scalar
