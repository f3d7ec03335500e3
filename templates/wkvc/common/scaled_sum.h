// Sums in f32 that carry a scale, as states do from chunk to chunk: rounding them to f16 and adding products of scaled
// operands then takes no multiplication of theirs. Their scale follows their size in steps that are rarely taken.
#pragma once

#include "wkvc/common/mma.h"

namespace wkvc {

template <int R, int C>
using ScaledSum = Scaled<Tile<f32, R, C>>;

namespace scaled_sum {

// Where the largest element of the data may lie before its scale changes: f16 has room for what a chunk adds, and loses
// nothing that counts beside it. Then it is brought to 2^7, as scale_for does.
inline constexpr float kLeast = 1.f, kMost = 0x1p14f;
// Scales of products beside the sum's: operands reach 2^8 and are to stay finite, or normal, when they are brought to
// it.
inline constexpr float kHighest = 0x1p7f, kLowest = 0x1p-20f;

// Scales whose products with each other's inverses are harmless.
WKVC_INLINE float within_range(float scale) { return scalar::min(scalar::max(scale, 0x1p-120f), 0x1p120f); }

template <int R, int C>
WKVC_INLINE void change_scale(ScaledSum<R, C>& x, float scale) {
  x.data = x.data * product_of_scales(x.scale, inverse_scale(scale));
  x.scale = scale;
}

template <int R, int C>
WKVC_INLINE void make_room(ScaledSum<R, C>& x, float product) {
  if (product > x.scale * kHighest) change_scale(x, within_range(product * (1.f / kHighest)));
}

// Once a sum has been rounded its data need not fit f16, only f32. Products of zeros don't count.
template <int R, int C>
WKVC_INLINE void approach(ScaledSum<R, C>& x, float product) {
  if (product < x.scale * kLowest && product > 0x1p-120f) {
    change_scale(x, within_range(scalar::max(product, x.scale * 0x1p-80f)));
  }
}

// The largest |x| of operands, known to every lane. NaN does not count.
template <class T, int R, int C>
WKVC_INLINE float max_abs(const Tile<T, R, C>& x) {
  copy::Largest<T> largest;
  WKVC_EACH_BLOCK(R, C, largest.add(x.block[i][j]));
  return lanes::max_non_negative(largest.value());
}

}  // namespace scaled_sum

template <int R, int C>
WKVC_INLINE ScaledSum<R, C> with_scale(const Tile<f32, R, C>& x) {
  ScaledSum<R, C> y{x, 1.f};
  scaled_sum::change_scale(y, scaled_sum::within_range(scale_for(max_abs(x))));
  return y;
}

template <int R, int C>
WKVC_INLINE ScaledSum<R, C> operator*(const ScaledSum<R, C>& x, const RowVec<C>& y) {
  return {x.data * y, x.scale};
}

// To an operand with the sum's scale.
template <class T, int R, int C>
WKVC_INLINE Scaled<Tile<T, R, C>> round_in_scale(ScaledSum<R, C>& x) {
  auto rounded = round<T>(x.data);
  const float largest = scaled_sum::max_abs(rounded);
  if (largest < scaled_sum::kLeast || largest > scaled_sum::kMost) {
    scaled_sum::change_scale(x, scaled_sum::within_range(scale_for(max_abs(x.data)) * x.scale));
    rounded = round<T>(x.data);
  }
  return {rounded, x.scale};
}

// acc[m,n] += Σ_k A[m,k]·B[n,k] as mma_nt, into a sum that has been rounded: what A loses in its scale does not count
// beside the sum's largest elements.
template <int M, int N, class T, int K, class B>
WKVC_INLINE void accumulate(ScaledSum<M, N>& acc, const Scaled<Tile<T, M, K>>& a, const B& b) {
  const float product = product_of_scales(a.scale, scale_of(b));
  scaled_sum::make_room(acc, product);
  scaled_sum::approach(acc, product);
  const float ratio = product * inverse_scale(acc.scale);
  mma_nt(acc.data, multiply(a.data, ratio), unscaled(b));
}

// The same where the sum may be much smaller than what its scale was for.
template <int M, int N, class A, class B>
WKVC_INLINE void mma_nt(ScaledSum<M, N>& acc, const A& a, const B& b) {
  static_assert(!has_slab_scales<A> && !has_slab_scales<B>, "a sum takes operands of one scale");
  const float product = product_of_scales(scale_of(a), scale_of(b));
  scaled_sum::make_room(acc, product);
  mma_scaled(acc.data, unscaled(a), unscaled(b), product * inverse_scale(acc.scale));
}

}  // namespace wkvc
