// Contractions of each column of one operand with the same one of another, on tensor cores: Σ_v x[v,k]·y[v,k] is the
// diagonal of xᵀ·y.
#pragma once

#include "wkvc/common/tile/mma.h"
#include "wkvc/common/tile/rows.h"

namespace wkvc {

template <class X, class Y>
WKVC_INLINE RowVec<16> column_dots(const X& x, const Y& y) {
  auto products = zeros<16, 16>();
  mma_nt(products, trans(x), trans(y));
  return diagonal_row(products);
}

// The same of tiles that hold xᵀ and yᵀ as B operands: what the lane has of 16 columns at a time.
template <class T, int N, int V>
WKVC_INLINE RowVec<N> own_column_dots(const ColumnTile<T, N, V>& x, const ColumnTile<T, N, V>& y) {
  RowVec<N> dots;
  const auto take = [&](auto half, int i) WKVC_INLINE_LAMBDA {
    WKVC_FOR(k, V / 16, half.add(x.block[i][k], y.block[i][k]));
    half.put(dots.v[i]);
  };
  WKVC_FOR(i, N / 16, take(HalfDots<0>{}, i), take(HalfDots<1>{}, i));
  return dots;
}
template <class T, int N, int V>
WKVC_INLINE RowVec<N> column_dots(const ColumnTile<T, N, V>& x, const ColumnTile<T, N, V>& y) {
  return sum_row_groups(own_column_dots(x, y));
}
// And the sum of another tile's rows.
template <class T, int N, int V, int R>
WKVC_INLINE RowVec<N> column_dots(const ColumnTile<T, N, V>& x, const ColumnTile<T, N, V>& y,
                                  const Tile<f32, R, N>& rows) {
  return sum_row_groups(own_column_dots(x, y) + sum_own_rows(rows));
}

}  // namespace wkvc
