// Decays between the tokens of a chunk.
#pragma once

#include "wkvc/common/nest/role.h"
#include "wkvc/common/tile/elementwise.h"
#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

// Multiplies the products of tokens i (this warp's rows) and j (columns, from the chunk's token `column0` on) by the
// decay from j to i, two to the power of the difference of their sums: not positive where j comes before i or is i. If
// Masked, zero where j comes after i; else whatever the product is there, infinite or no number.
template <bool Masked, int C>
WKVC_INLINE Tile<f32, 16, C> decayed_pairs(const Role& role, const Tile<f32, 16, C>& x, const float* sums,
                                           int column0 = 0) {
  const int row0 = role.row0(), before = row0 - column0 + row_of(0, 0) - column_of(0, 0);  // the first element's
  const ColVec<16> rows = load_column<16>(sums + row0);
  const RowVec<C> columns = load_row<C>(sums + column0);
  const auto pair = [&](int j, int e) WKVC_INLINE_LAMBDA {
    const int farther = column_of(j, e) - column_of(0, 0) - (row_of(0, e) - row_of(0, 0));
    const float between = rows.v[0][PerRow::slot(e)] - columns.v[j][PerColumn::slot(e)];
    const float decayed = x.block[0][j].unit[e] * scalar::exp2(between);
    return !Masked || before >= farther ? decayed : 0.f;
  };
  Tile<f32, 16, C> y;
  WKVC_EACH_ELEMENT(16, C, y.block[i][j].unit[e] = pair(j, e));
  return y;
}

}  // namespace wkvc
