// Contractions of each column of one operand with the same one of another, on tensor cores: Σ_v x[v,k]·y[v,k] is the
// diagonal of xᵀ·y.
#pragma once

#include "wkvc/common/mma.h"
#include "wkvc/common/rows.h"

namespace wkvc {

template <class X, class Y>
WKVC_INLINE RowVec<16> column_dots(const X& x, const Y& y) {
  auto products = zeros<16, 16>();
  mma_nt(products, trans(x), trans(y));
  return diagonal_row(products);
}

// The same of tiles that hold xᵀ and yᵀ: of 16 columns at a time.
template <class T, int N, int V>
WKVC_INLINE RowVec<N> column_dots(const Tile<T, N, V>& x, const Tile<T, N, V>& y) {
  RowVec<N> dots;
  const auto take = [&](int i) WKVC_INLINE_LAMBDA {
    auto products = zeros<16, 16>();
    WKVC_FOR(k, V / 16, mma_block(products.block[0][0], operand_block(x, i, k), column_block(y, i, k)));
    const auto diagonal = diagonal_row(products);
    WKVC_FOR(s, PerColumn::kSlots, dots.v[i][s] = diagonal.v[0][s]);
  };
  WKVC_FOR(i, N / 16, take(i));
  return dots;
}

}  // namespace wkvc
