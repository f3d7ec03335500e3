// Contractions of each column of one shared operand with the same one of another, on tensor cores: Σ_v x[v,k]·y[v,k] is
// the diagonal of xᵀ·y.
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

}  // namespace wkvc
