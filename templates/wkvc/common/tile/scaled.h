// Operands with a power-of-two scale, so that f16 neither overflows nor loses small tiles.
#pragma once

#include "wkvc/common/tile/elementwise.h"

namespace wkvc {

template <class X>
struct Scaled {
  X data;
  float scale;  // a power of two; what is meant is data * scale
};

template <class X>
WKVC_INLINE Scaled<X> scaled(const X& data, float scale) {
  return {data, scale};
}

// The power of two s with max_abs / s in [2^7, 2^8): 2^8 below f16's largest number, 2^21 above its smallest normal
// one, so a factor of up to 2^8 that was not measured still fits. Zero and tiny maxima get 2^-126, infinity and NaN
// 2^121: s and 1/s are always finite and normal, and what was not finite stays so.
WKVC_INLINE float scale_for(float max_abs) {
  constexpr int kHeadroom = 7;
  const int exponent = static_cast<int>(scalar::bits_of(max_abs) >> 23 & 0xffu) - kHeadroom;
  return scalar::float_of(static_cast<u32>(exponent < 1 ? 1 : exponent) << 23);
}

// 1/s of a power of two: negates its exponent.
WKVC_INLINE float inverse_scale(float scale) { return scalar::float_of((254u << 23) - scalar::bits_of(scale)); }

// log2 of a power of two.
WKVC_INLINE float exponent_of(float power) {
  return static_cast<float>(static_cast<int>(scalar::bits_of(power) >> 23) - 127);
}

// The largest finite |x| of a tile, known to every lane. What is not finite does not count; it survives in the tile
// itself, and what lies beside it keeps its digits.
template <int R, int C, class L>
WKVC_INLINE float max_abs(const Tile<f32, R, C, L>& x) {
  float largest = 0.f;
  WKVC_EACH_ELEMENT(R, C, largest = scalar::max(largest, scalar::abs(x.block[i][j].unit[e])));
  largest = lanes::max_non_negative(largest);
  if (scalar::finite_abs(largest) == largest) return largest;
  largest = 0.f;
  WKVC_EACH_ELEMENT(R, C, largest = scalar::max(largest, scalar::finite_abs(x.block[i][j].unit[e])));
  return lanes::max_non_negative(largest);
}

template <class T, int R, int C, class L>
WKVC_INLINE Scaled<Tile<T, R, C, L>> round_scaled(const Tile<f32, R, C, L>& x, float scale) {
  return {round<T>(x * inverse_scale(scale)), scale};
}

template <class T, int R, int C, class L>
WKVC_INLINE Scaled<Tile<T, R, C, L>> round_scaled(const Tile<f32, R, C, L>& x) {
  return round_scaled<T>(x, scale_for(max_abs(x)));
}

// Each element times a power of two; what leaves T's range is rounded.
template <class T, int R, int C, class L>
WKVC_INLINE Tile<T, R, C, L> multiply(const Tile<T, R, C, L>& x, float power) {
  Tile<T, R, C, L> y;
  WKVC_EACH_UNIT(T, R, C, y.block[i][j].unit[u] = multiply(x.block[i][j].unit[u], power, T{}));
  return y;
}

// An input over a scale: what is to be an operand with that scale. bf16 has room for all scales, so that two elements
// take one multiplication.
template <class T, int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> widen_over(const Tile<T, R, C, L>& x, float scale) {
  if constexpr (is_same<T, bf16>) {
    return widen(multiply(x, inverse_scale(scale)));
  } else {
    return widen(x) * inverse_scale(scale);
  }
}

template <class T, int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> widen(const Scaled<Tile<T, R, C, L>>& x) {
  return widen(x.data) * x.scale;
}

}  // namespace wkvc
