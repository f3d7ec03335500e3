// Contractions of f32 over tokens, one operand a triangular matrix. Row m of the product takes nothing but what the
// matrix does not have as a zero in its row m: elsewhere the other operand may be infinite or NaN.
#pragma once

#include "wkvc/common/shared_tile.h"

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

WKVC_INLINE bool is_finite(const Fragment<f32>& x) {
  float sum = 0.f;
  WKVC_FOR(e, layout::kElements, sum = plus_nothing(sum, x.unit[e], f32{}));
  return !lanes::any(is_nan(sum, f32{}));
}

// x with zeros where row `row` of a triangular block has them. B operands of f32 lie like all blocks.
template <class Columns>
WKVC_INLINE fragment::Columns<f32> meeting_row(const Fragment<f32>& x, int row) {
  fragment::Columns<f32> y;
  WKVC_FOR(e, layout::kElements, y.unit[e] = Columns::holds(row, column_of(0, e)) ? x.unit[e] : 0.f);
  return y;
}

// A block on the diagonal of a triangular A operand, or of a triangular B operand. What is not finite is rare, and then
// there is a product for each row: finite operands make the same bytes in either way.
template <class Columns>
WKVC_INLINE void mma_block_of_rows(Fragment<f32>& acc, const Fragment<f32>& a, const fragment::Columns<f32>& b) {
  if (is_finite(b)) return mma_block(acc, a, b);
  const Fragment<f32> before = acc;
  WKVC_NO_UNROLL
  for (int row = 0; row < 16; ++row) {
    Fragment<f32> sum = before;
    mma_block(sum, a, meeting_row<Columns>(b, row));
    WKVC_FOR(e, layout::kElements, acc.unit[e] = row_of(0, e) == row ? sum.unit[e] : acc.unit[e]);
  }
}
template <class Columns>
WKVC_INLINE void mma_block_of_columns(Fragment<f32>& acc, const Fragment<f32>& a, const fragment::Columns<f32>& b) {
  if (is_finite(a)) return mma_block(acc, a, b);
  const Fragment<f32> before = acc;
  WKVC_NO_UNROLL
  for (int row = 0; row < 16; ++row) {
    Fragment<f32> sum = before;
    mma_block(sum, meeting_row<Columns>(a, row), b);
    WKVC_FOR(e, layout::kElements, acc.unit[e] = column_of(0, e) == row ? sum.unit[e] : acc.unit[e]);
  }
}

template <int M, int N, class Columns, class A, class B>
WKVC_INLINE void mma_nt(Tile<f32, M, N>& acc, const Triangular<Columns, A>& a, const B& b) {
  static_assert(A::kRows == M && A::kColumns == M && B::kColumns == M && B::kRows == N, "operands do not fit");
  WKVC_UNROLL
  for (int k = 0; k < M / 16; ++k) {
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
}

template <int M, int N, class A, class Columns, class B>
WKVC_INLINE void mma_nt(Tile<f32, M, N>& acc, const A& a, const Triangular<Columns, B>& b) {
  static_assert(B::kRows == N && B::kColumns == N && A::kColumns == N && A::kRows == M, "operands do not fit");
  WKVC_UNROLL
  for (int k = 0; k < N / 16; ++k) {
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
}

}  // namespace wkvc
