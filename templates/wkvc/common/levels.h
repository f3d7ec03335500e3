// Pairs of tokens by level. A pair of rows j < i belongs to the level of the blocks of 2·Half rows, Half = 1, 2, 4, …,
// in which i lies in the upper and j in the lower half. Decays between the two go through the last row of the lower
// half, the middle of the block, so that no exponent is positive whatever the decays are.
#pragma once

#include "wkvc/common/rows.h"

namespace wkvc {

template <int Half>
WKVC_INLINE constexpr bool is_upper(int row) {
  return (row & Half) != 0;
}

// The middle of the block that `row` is in, or the last of R rows where they end before it.
template <int Half, int R>
WKVC_INLINE constexpr int middle_row(int row) {
  const int middle = row / (2 * Half) * (2 * Half) + Half - 1;
  return middle < R ? middle : R - 1;
}

// One row slot of one column of level_exponents; `middle` goes on from slot to slot.
template <int Half, int R, int C>
WKVC_INLINE void level_slot(Tile<f32, R, C>& z, const Tile<f32, R, C>& lx, const Tile<f32, R, C>& ly, int j,
                            int column_slot, int n, float& middle) {
  const int i = n / layout::kRowSlots, e = layout::element(n % layout::kRowSlots, column_slot);
  const int first = n * layout::kRowGroups, row = first + layout::row_of_slot(0);
  if (Half < layout::kRowGroups) {  // several blocks among these rows
    middle = lanes::from_row_group(ly.block[i][j].unit[e], middle_row<Half, R>(layout::row_of_slot(0)));
  } else if (first % (2 * Half) == 0) {  // a block begins
    const int m = middle_row<Half, R>(first), slot = m % 16 / layout::kRowGroups;
    middle =
        lanes::from_row_group(ly.block[m / 16][j].unit[layout::element(slot, column_slot)], m % layout::kRowGroups);
  }
  z.block[i][j].unit[e] = is_upper<Half>(row) ? lx.block[i][j].unit[e] - middle : middle - ly.block[i][j].unit[e];
}

template <int Half, int R, int C>
WKVC_INLINE void level_column(Tile<f32, R, C>& z, const Tile<f32, R, C>& lx, const Tile<f32, R, C>& ly, int j,
                              int column_slot) {
  float middle = 0.f;
  WKVC_FOR(n, R / layout::kRowGroups, level_slot<Half>(z, lx, ly, j, column_slot, n, middle));
}

// Rows of upper halves: Lx minus Ly of the middle; of lower halves: Ly of the middle minus Ly.
template <int Half, int R, int C>
WKVC_INLINE Tile<f32, R, C> level_exponents(const Tile<f32, R, C>& lx, const Tile<f32, R, C>& ly) {
  Tile<f32, R, C> z;
  WKVC_EACH_SLOT(PerColumn, C, level_column<Half>(z, lx, ly, i, s));
  return z;
}

// Selections, like those of rows.h.
template <int Half, int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> level_pairs(const Tile<f32, R, C, L>& x) {
  WKVC_SELECT((row ^ column) / Half == 1 && is_upper<Half>(row));
}
template <int Half, int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> upper_rows(const Tile<f32, R, C, L>& x) {
  WKVC_SELECT(is_upper<Half>(row));
}
template <int Half, int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> lower_rows(const Tile<f32, R, C, L>& x) {
  WKVC_SELECT(!is_upper<Half>(row));
}

}  // namespace wkvc
