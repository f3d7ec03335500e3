// Contractions: acc[m,n] += Σ_k A[m,k]·B[n,k]. Either operand is a Tile, a Shared, a trans(Shared), or one of those
// with a scale or with one per 16 columns (ColumnSlabs, trans(RowSlabs)); shared operands are loaded block by block.
#pragma once

#include "wkvc/common/tile/lower_terms.h"
#include "wkvc/common/tile/slabs.h"

namespace wkvc {

// An operand without its scale, the scale, and that of columns 16k … 16k+15.
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
WKVC_INLINE const X& unscaled(const SlabScaled<X>& x) {
  return x.data;
}
template <class T, int R, int C, int LD>
WKVC_INLINE const Shared<T, R, C, LD>& unscaled(const ColumnSlabs<T, R, C, LD>& x) {
  return x.view;
}

// The type of an operand without its scale.
template <class X>
struct Referred;
template <class X>
struct Referred<const X&> {
  using type = X;
};
template <class X>
using Unscaled = typename Referred<decltype(unscaled(declared<X>()))>::type;

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
WKVC_INLINE float scale_of(const X& x, int) {
  return scale_of(x);
}
template <class X>
WKVC_INLINE float scale_of(const SlabScaled<X>& x, int k) {
  return x.scales[k];
}
template <class T, int R, int C, int LD>
WKVC_INLINE float scale_of(const ColumnSlabs<T, R, C, LD>& x, int k) {
  return x.scales[k];
}

template <class X>
inline constexpr bool has_scale = false;
template <class X>
inline constexpr bool has_scale<Scaled<X>> = true;
template <class T, int R, int C, int LD>
inline constexpr bool has_scale<ScaledShared<T, R, C, LD>> = true;

template <class X>
inline constexpr bool has_slab_scales = false;
template <class X>
inline constexpr bool has_slab_scales<SlabScaled<X>> = true;
template <class T, int R, int C, int LD>
inline constexpr bool has_slab_scales<ColumnSlabs<T, R, C, LD>> = true;

// Two huge scales must not meet a zero as infinity.
WKVC_INLINE float product_of_scales(float a, float b) { return scalar::min(a * b, 0x1p127f); }

template <class X>
using OperandBlock = decltype(operand_block(declared<X>(), 0, 0));

// Each block of A and of B is loaded once.
template <int M, int N, class A, class B>
WKVC_INLINE void mma_unscaled(Tile<f32, M, N>& acc, const A& a, const B& b) {
  WKVC_UNROLL
  for (int k = 0; k < A::kColumns / 16; ++k) {
    OperandBlock<A> column[M / 16];
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
    WKVC_UNROLL
    for (int i = 0; i < M / 16; ++i) {
      WKVC_UNROLL
      for (int e = 0; e < layout::kElements; ++e) acc.block[i][j].unit[e] += product.block[i][0].unit[e] * scale;
    }
  }
}

// The scale changes with every step of the contraction, so each block's product of a step starts from zero.
template <int M, int N, class A, class B>
WKVC_INLINE void mma_slab_scaled(Tile<f32, M, N>& acc, const A& a, const B& b) {
  const auto& rows = unscaled(a);
  const auto& columns = unscaled(b);
  WKVC_UNROLL
  for (int k = 0; k < Unscaled<A>::kColumns / 16; ++k) {
    const float scale = product_of_scales(scale_of(a, k), scale_of(b, k));
    OperandBlock<Unscaled<A>> column[M / 16];
    WKVC_UNROLL
    for (int i = 0; i < M / 16; ++i) column[i] = operand_block(rows, i, k);
    WKVC_UNROLL
    for (int j = 0; j < N / 16; ++j) {
      const auto block = column_block(columns, j, k);
      WKVC_UNROLL
      for (int i = 0; i < M / 16; ++i) {
        Fragment<f32> product{};
        mma_block(product, column[i], block);
        WKVC_UNROLL
        for (int e = 0; e < layout::kElements; ++e) acc.block[i][j].unit[e] += product.unit[e] * scale;
      }
    }
  }
}

template <int M, int N, class A, class B>
WKVC_INLINE void mma_nt(Tile<f32, M, N>& acc, const A& a, const B& b) {
  const auto& rows = unscaled(a);
  const auto& columns = unscaled(b);
  using Rows = Unscaled<A>;
  using Columns = Unscaled<B>;
  static_assert(are_contracted<typename Contracted<typename Rows::Element>::type,
                               typename Contracted<typename Columns::Element>::type>,
                "no product of these dtypes");
  static_assert(Rows::kRows == M && Columns::kRows == N, "operands do not fit the accumulator");
  static_assert(Rows::kColumns == Columns::kColumns, "operands contract over different lengths");
  if constexpr (has_slab_scales<A> || has_slab_scales<B>) {
    mma_slab_scaled(acc, a, b);
  } else if constexpr (has_scale<A> || has_scale<B>) {
    mma_scaled(acc, rows, columns, product_of_scales(scale_of(a), scale_of(b)));
  } else {
    mma_unscaled(acc, rows, columns);
  }
}

}  // namespace wkvc
