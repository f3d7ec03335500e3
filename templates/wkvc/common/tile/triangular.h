// Contractions over tokens, one operand a triangular matrix. Row m of the product takes nothing but what the matrix
// does not have as a zero in its row m: elsewhere the other operand may be infinite or NaN.
#pragma once

#include "wkvc/common/tile/mma.h"

namespace wkvc {

// The columns of a row in which a triangular matrix is not zero.
struct UpToDiagonal {
  static WKVC_INLINE constexpr bool holds(int row, int column) { return column <= row; }
};
struct FromDiagonal {
  static WKVC_INLINE constexpr bool holds(int row, int column) { return column >= row; }
};

// A square operand that is zero in all columns but those.
template <class Columns, class X>
struct Triangular {
  const X& data;
};
template <class X>
WKVC_INLINE Triangular<UpToDiagonal, X> lower(const X& x) {
  return {x};
}
template <class X>
WKVC_INLINE Triangular<FromDiagonal, X> upper(const X& x) {
  return {x};
}

template <class Columns, class X>
WKVC_INLINE Triangular<Columns, Unscaled<X>> unscaled(const Triangular<Columns, X>& x) {
  return {unscaled(x.data)};
}
template <class Columns, class X>
struct Referred<Triangular<Columns, X>> {
  using type = X;
};
template <class Columns, class X>
WKVC_INLINE float scale_of(const Triangular<Columns, X>& x) {
  return scale_of(x.data);
}
template <class Columns, class X>
inline constexpr bool has_scale<Triangular<Columns, X>> = has_scale<X>;
template <class Columns, class X>
inline constexpr bool has_slab_scales<Triangular<Columns, X>> = has_slab_scales<X>;

// Of a block, as either operand.
template <class T, class Block>
WKVC_INLINE bool is_finite(const Block& x) {
  typename Unit<T>::type sum{};
  WKVC_FOR(u, layout::kElements / Unit<T>::elements, sum = plus_nothing(sum, x.unit[u], T{}));
  return !lanes::any(is_nan(sum, T{}));
}

// x with zeros where row `row` of a triangular block has them.
template <class Columns, class T>
WKVC_INLINE Fragment<T> meeting_row(const Fragment<T>& x, int row) {
  constexpr int kElements = Unit<T>::elements;
  Fragment<T> y;
  WKVC_UNROLL
  for (int u = 0; u < layout::kElements / kElements; ++u) {
    float elements[kElements];
    unpack(x.unit[u], elements, T{});
    WKVC_FOR(i, kElements, elements[i] = Columns::holds(row, column_of(0, kElements * u + i)) ? elements[i] : 0.f);
    y.unit[u] = pack(elements, T{});
  }
  return y;
}

// A block on the diagonal of a triangular A operand, or of a triangular B operand. What is not finite is rare, and then
// there is a product for each row: finite operands make the same bytes in either way.
template <class Columns, class A, class B>
WKVC_INLINE void mma_block_of_rows(Fragment<f32>& acc, const Fragment<A>& a, const fragment::Columns<B>& b) {
  if (is_finite<B>(b)) return mma_block(acc, a, b);
  const Fragment<f32> before = acc;
  const Fragment<B> all = fragment::rows(b);
  WKVC_NO_UNROLL
  for (int row = 0; row < 16; ++row) {
    Fragment<f32> sum = before;
    mma_block(sum, a, fragment::columns(meeting_row<Columns>(all, row)));
    WKVC_FOR(e, layout::kElements, acc.unit[e] = row_of(0, e) == row ? sum.unit[e] : acc.unit[e]);
  }
}
template <class Columns, class A, class B>
WKVC_INLINE void mma_block_of_columns(Fragment<f32>& acc, const Fragment<A>& a, const fragment::Columns<B>& b) {
  if (is_finite<A>(a)) return mma_block(acc, a, b);
  const Fragment<f32> before = acc;
  WKVC_NO_UNROLL
  for (int row = 0; row < 16; ++row) {
    Fragment<f32> sum = before;
    mma_block(sum, meeting_row<Columns>(a, row), b);
    WKVC_FOR(e, layout::kElements, acc.unit[e] = column_of(0, e) == row ? sum.unit[e] : acc.unit[e]);
  }
}

// Step k of a contraction, over 16 columns of both operands.
template <int M, int N, class Columns, class A, class B>
WKVC_INLINE void mma_step(Tile<f32, M, N>& acc, const Triangular<Columns, A>& a, const B& b, int k) {
  WKVC_UNROLL
  for (int j = 0; j < N / 16; ++j) {
    const auto block = column_block(b, j, k);
    WKVC_UNROLL
    for (int i = 0; i < M / 16; ++i) {
      if (i == k)
        mma_block_of_rows<Columns>(acc.block[i][j], operand_block(a.data, i, k), block);
      else if (Columns::holds(i, k))
        mma_block(acc.block[i][j], operand_block(a.data, i, k), block);
    }
  }
}
template <int M, int N, class A, class Columns, class B>
WKVC_INLINE void mma_step(Tile<f32, M, N>& acc, const A& a, const Triangular<Columns, B>& b, int k) {
  WKVC_UNROLL
  for (int i = 0; i < M / 16; ++i) {
    const auto block = operand_block(a, i, k);
    WKVC_UNROLL
    for (int j = 0; j < N / 16; ++j) {
      if (j == k)
        mma_block_of_columns<Columns>(acc.block[i][j], block, column_block(b.data, j, k));
      else if (Columns::holds(j, k))
        mma_block(acc.block[i][j], block, column_block(b.data, j, k));
    }
  }
}

// One of the operands is triangular: `Steps` of 16 columns.
template <int Steps, int M, int N, class A, class B>
WKVC_INLINE void mma_triangular(Tile<f32, M, N>& acc, const A& a, const B& b) {
  const auto& rows = unscaled(a);
  const auto& columns = unscaled(b);
  WKVC_UNROLL
  for (int k = 0; k < Steps; ++k) {
    if constexpr (has_scale<A> || has_scale<B> || has_slab_scales<A> || has_slab_scales<B>) {
      Tile<f32, M, N> product{};
      mma_step(product, rows, columns, k);
      acc = acc + product * product_of_scales(scale_of(a, k), scale_of(b, k));
    } else {
      mma_step(acc, rows, columns, k);
    }
  }
}
template <int M, int N, class Columns, class A, class B>
WKVC_INLINE void mma_nt(Tile<f32, M, N>& acc, const Triangular<Columns, A>& a, const B& b) {
  static_assert(Unscaled<A>::kRows == M && Unscaled<A>::kColumns == M, "a triangular operand is square");
  static_assert(Unscaled<B>::kColumns == M && Unscaled<B>::kRows == N, "operands do not fit");
  mma_triangular<M / 16>(acc, a, b);
}
template <int M, int N, class A, class Columns, class B>
WKVC_INLINE void mma_nt(Tile<f32, M, N>& acc, const A& a, const Triangular<Columns, B>& b) {
  static_assert(Unscaled<B>::kRows == N && Unscaled<B>::kColumns == N, "a triangular operand is square");
  static_assert(Unscaled<A>::kColumns == N && Unscaled<A>::kRows == M, "operands do not fit");
  mma_triangular<N / 16>(acc, a, b);
}

// As for other operands, whose scales are that of the product.
template <int M, int N, class Columns, class A, class B>
WKVC_INLINE void mma_scaled(Tile<f32, M, N>& acc, const Triangular<Columns, A>& a, const B& b, float scale) {
  Tile<f32, M, N> product{};
  mma_nt(product, a, b);
  acc = acc + product * scale;
}
template <int M, int N, class A, class Columns, class B>
WKVC_INLINE void mma_scaled(Tile<f32, M, N>& acc, const A& a, const Triangular<Columns, B>& b, float scale) {
  Tile<f32, M, N> product{};
  mma_nt(product, a, b);
  acc = acc + product * scale;
}

}  // namespace wkvc
