// Sums in f32 that carry a scale, as states do from chunk to chunk: rounding them to f16 and adding products of scaled
// operands then takes no multiplication of theirs. A state's scale follows its size in steps that are rarely taken.
#pragma once

#include "wkvc/common/tile/levels.h"
#include "wkvc/common/tile/mma.h"

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

// Bounds of operands over what f16 holds of them: how small that may get before the scale changes, and the step from
// what scale_for makes of it to where it becomes 1/4 to 1/2.
inline constexpr float kLeastFill = 0x1p-6f, kBeyond = 0x1p9f;

// Scales whose products with each other's inverses are harmless.
WKVC_INLINE float within_range(float scale) { return scalar::min(scalar::max(scale, 0x1p-120f), 0x1p120f); }

// Of a scale that may have been cut.
WKVC_INLINE bool is_at_end(float scale) { return scale <= 0x1p-120f || scale >= 0x1p120f; }

// Two scales that are known to be the same, as the host target checks: it makes NaN of others. Only ranges' ends
// differ.
WKVC_INLINE float same(float x, float y) {
  return scalar::expected(x == y || !(x > 0x1p-100f && x < 0x1p100f && y > 0x1p-100f && y < 0x1p100f), x);
}

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

// How full of operands' bounds f16 is in their scale; where it is overfull or all but empty, another scale fits.
WKVC_INLINE bool is_full(float fill) { return fill >= kLeastFill && fill <= 1.f; }
WKVC_INLINE float fitting_scale(float bound) { return within_range(scale_for(bound) * kBeyond); }

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

// One that all warps of a block share begins alike, and changes when they know the largest element of all.
template <int R, int C>
WKVC_INLINE ScaledSum<R, C> with_unit_scale(const Tile<f32, R, C>& x) {
  return {x, 1.f};
}

template <int R, int C>
WKVC_INLINE float max_abs(const ScaledSum<R, C>& x) {
  return max_abs(x.data) * x.scale;
}

template <int R, int C>
WKVC_INLINE ScaledSum<R, C> operator*(const ScaledSum<R, C>& x, const RowVec<C>& y) {
  return {x.data * y, x.scale};
}
template <int R, int C>
WKVC_INLINE ScaledSum<R, C> operator+(const ScaledSum<R, C>& x, const ScaledSum<R, C>& y) {
  return {x.data + y.data, scaled_sum::same(x.scale, y.scale)};
}
template <int R, int C>
WKVC_INLINE ScaledSum<R, C> tril(const ScaledSum<R, C>& x) {
  return {tril(x.data), x.scale};
}
template <int R, int C>
WKVC_INLINE ScaledSum<R, C> tril_strict(const ScaledSum<R, C>& x) {
  return {tril_strict(x.data), x.scale};
}
template <int Half, int R, int C>
WKVC_INLINE ScaledSum<R, C> level_pairs(const ScaledSum<R, C>& x) {
  return {level_pairs<Half>(x.data), x.scale};
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

// The same where a state x makes operands that are to fit, too: none is larger than x in its scale, times `slope`, and
// `offset` over the scale, times f16's largest number over two.
template <class T, int R, int C>
WKVC_INLINE Scaled<Tile<T, R, C>> round_in_scale(ScaledSum<R, C>& x, float slope, float offset) {
  auto rounded = round<T>(x.data);
  const float fill = scaled_sum::max_abs(rounded) * slope + offset * inverse_scale(x.scale);
  if (!scaled_sum::is_full(fill)) {
    scaled_sum::change_scale(x, scaled_sum::fitting_scale(max_abs(x) * slope + offset));
    rounded = round<T>(x.data);
  }
  return {rounded, x.scale};
}

// Where all warps of a block share the state's scale it fits before any of them rounds: `largest` is that of all rows.
template <int R, int C>
WKVC_INLINE ScaledSum<R, C> in_fitting_scale(ScaledSum<R, C> x, float largest, float slope, float offset) {
  const float bound = largest * slope + offset;
  if (!scaled_sum::is_full(bound * inverse_scale(x.scale))) {
    scaled_sum::change_scale(x, scaled_sum::fitting_scale(bound));
  }
  return x;
}

// To an operand with another scale, or that of its own maximum.
template <class T, int R, int C>
WKVC_INLINE Scaled<Tile<T, R, C>> round_scaled(const ScaledSum<R, C>& x, float scale) {
  return {round<T>(x.data * product_of_scales(x.scale, inverse_scale(scale))), scale};
}
template <class T, int R, int C>
WKVC_INLINE Scaled<Tile<T, R, C>> round_scaled(const ScaledSum<R, C>& x) {
  return round_scaled<T>(x, scale_for(max_abs(x)));
}

// To an operand with the scale that a sum has, which is known to fit.
template <class T, int R, int C>
WKVC_INLINE Scaled<Tile<T, R, C>> round_as_is(const ScaledSum<R, C>& x) {
  return {round<T>(x.data), x.scale};
}

// To an operand that makes products in the state's scale with operands of scale `other`. What has no place in f16
// beside the state becomes zero: the operand is for sums that the state takes part in.
template <class T, int R, int C, class State>
WKVC_INLINE Scaled<Tile<T, R, C>> round_beside(const ScaledSum<R, C>& x, const Scaled<State>& state, float other) {
  return {round<T>(x.data * (x.scale * inverse_scale(state.scale) * other)),
          scaled_sum::within_range(state.scale * inverse_scale(other))};
}
template <class T, int R, int C, class State>
WKVC_INLINE Scaled<Tile<T, R, C>> round_beside(const Tile<f32, R, C>& x, const Scaled<State>& state, float other) {
  return round_beside<T>(ScaledSum<R, C>{x, 1.f}, state, other);
}
template <class T, int R, int C, class State>
WKVC_INLINE Scaled<Tile<T, R, C>> round_beside(const Scaled<Tile<T, R, C>>& x, const Scaled<State>& state,
                                               float other) {
  return {multiply(x.data, x.scale * inverse_scale(state.scale) * other),
          scaled_sum::within_range(state.scale * inverse_scale(other))};
}

// Σ_k A[m,k]·B[n,k] in the scale of A times that of B; with what there is already.
template <int M, int N, class A, class B>
WKVC_INLINE ScaledSum<M, N> product_nt(const Tile<f32, M, N>& acc, const A& a, const B& b) {
  ScaledSum<M, N> sum{acc, product_of_scales(scale_of(a), scale_of(b))};
  sum.data = sum.data * inverse_scale(sum.scale);
  mma_nt(sum.data, unscaled(a), unscaled(b));
  return sum;
}
template <class A, class B>
WKVC_INLINE auto product_nt(const A& a, const B& b) {
  ScaledSum<Unscaled<A>::kRows, Unscaled<B>::kRows> sum{{}, product_of_scales(scale_of(a), scale_of(b))};
  mma_nt(sum.data, unscaled(a), unscaled(b));
  return sum;
}

// acc[m,n] += Σ_k A[m,k]·B[n,k] where the scale of A times that of B is that of the sum.
template <int M, int N, class A, class B>
WKVC_INLINE void mma_same_scale(ScaledSum<M, N>& acc, const A& a, const B& b) {
  if (!scaled_sum::is_at_end(scale_of(a))) {
    acc.scale = scaled_sum::same(acc.scale, product_of_scales(scale_of(a), scale_of(b)));
  }
  mma_nt(acc.data, unscaled(a), unscaled(b));
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
