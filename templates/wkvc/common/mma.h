// Contractions: acc[m,n] += Σ_k A[m,k]·B[n,k]. Either operand is a Tile, a Shared, a trans(Shared), or one of those
// with a scale; shared operands are loaded block by block.
#pragma once

#include "wkvc/common/shared_tile.h"

namespace wkvc {

// An operand without its scale, and the scale.
template <class X>
WKVC_INLINE const X& unscaled(const X& x) {
  return x;
}
template <class X>
WKVC_INLINE const X& unscaled(const Scaled<X>& x) {
  return x.data;
}
template <class T, int R, int C, int LD>
WKVC_INLINE const Shared<T, R, C, LD>& unscaled(const ScaledShared<T, R, C, LD>& x) {
  return x.view;
}

template <class X>
WKVC_INLINE float scale_of(const X&) {
  return 1.f;
}
template <class X>
WKVC_INLINE float scale_of(const Scaled<X>& x) {
  return x.scale;
}
template <class T, int R, int C, int LD>
WKVC_INLINE float scale_of(const ScaledShared<T, R, C, LD>& x) {
  return *x.scale;
}

template <class X>
inline constexpr bool has_scale = false;
template <class X>
inline constexpr bool has_scale<Scaled<X>> = true;
template <class T, int R, int C, int LD>
inline constexpr bool has_scale<ScaledShared<T, R, C, LD>> = true;

// Each block of A and of B is loaded once.
template <int M, int N, class A, class B>
WKVC_INLINE void mma_unscaled(Tile<f32, M, N>& acc, const A& a, const B& b) {
  WKVC_UNROLL
  for (int k = 0; k < A::kColumns / 16; ++k) {
    Fragment<typename A::Element> column[M / 16];
    WKVC_UNROLL
    for (int i = 0; i < M / 16; ++i) column[i] = operand_block(a, i, k);
    WKVC_UNROLL
    for (int j = 0; j < N / 16; ++j) {
      const auto block = column_block(b, j, k);
      WKVC_UNROLL
      for (int i = 0; i < M / 16; ++i) mma_block(acc.block[i][j], column[i], block);
    }
  }
}

// The product gathers from zero in one column of blocks at a time, so that it does not double the accumulator's
// registers.
template <int M, int N, class A, class B>
WKVC_INLINE void mma_scaled(Tile<f32, M, N>& acc, const A& a, const B& b, float scale) {
  WKVC_UNROLL
  for (int j = 0; j < N / 16; ++j) {
    Tile<f32, M, 16> product{};
    WKVC_UNROLL
    for (int k = 0; k < A::kColumns / 16; ++k) {
      const auto block = column_block(b, j, k);
      WKVC_UNROLL
      for (int i = 0; i < M / 16; ++i) mma_block(product.block[i][0], operand_block(a, i, k), block);
    }
    for_each_element<M, 16>([&](int i, int, int e) { acc.block[i][j].unit[e] += product.block[i][0].unit[e] * scale; });
  }
}

template <int M, int N, class A, class B>
WKVC_INLINE void mma_nt(Tile<f32, M, N>& acc, const A& a, const B& b) {
  const auto& rows = unscaled(a);
  const auto& columns = unscaled(b);
  using Rows = decltype(load_operand(rows));
  using Columns = decltype(load_operand(columns));
  static_assert(is_same<typename Rows::Element, typename Columns::Element>, "both operands have one dtype");
  static_assert(Rows::kRows == M && Columns::kRows == N, "operands do not fit the accumulator");
  static_assert(Rows::kColumns == Columns::kColumns, "operands contract over different lengths");
  if constexpr (has_scale<A> || has_scale<B>) {
    // Two huge scales must not meet a zero as infinity.
    mma_scaled(acc, rows, columns, scalar::min(scale_of(a) * scale_of(b), 0x1p127f));
  } else {
    mma_unscaled(acc, rows, columns);
  }
}

}  // namespace wkvc
