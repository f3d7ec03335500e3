// Pairs of tokens by level. A pair of rows j < i belongs to the level of the blocks of 2·Half rows, Half = 1, 2, 4, …,
// in which i lies in the upper and j in the lower half. Decays between the two go through the last row of the lower
// half, the middle of the block. Running sums inside the halves become those of whole blocks, level after level.
#pragma once

#include "wkvc/common/tile/rows.h"

namespace wkvc {

template <int Half>
WKVC_INLINE constexpr bool is_upper(int row) {
  return (row & Half) != 0;
}

// The first row of the half that makes a block with the half of `row`.
template <int Half>
WKVC_INLINE constexpr int other_half(int row) {
  return (row / Half ^ 1) * Half;
}
// The row behind the half that begins with `first`, of R rows.
template <int Half, int R>
WKVC_INLINE constexpr int end_of_half(int first) {
  return first + Half < R ? first + Half : R;
}

// One row slot of one column of last_of_other_half; `last` goes on from slot to slot.
template <int Half, int R, int C>
WKVC_INLINE void last_slot(Tile<f32, R, C>& z, const Tile<f32, R, C>& x, int j, int column_slot, int n, float& last) {
  const int first = n * layout::kRowGroups, other = other_half<Half>(first);
  if (Half < layout::kRowGroups) {  // several halves among these rows
    last =
        lanes::from_row_group(row_slot_of(x, j, column_slot, n), other_half<Half>(layout::row_of_slot(0)) + Half - 1);
  } else if (first % Half == 0) {  // a half begins
    const int row = other < R ? end_of_half<Half, R>(other) - 1 : 0;
    const float at_row =
        lanes::from_row_group(row_slot_of(x, j, column_slot, row / layout::kRowGroups), row % layout::kRowGroups);
    last = other < R ? at_row : 0.f;
  }
  row_slot_of(z, j, column_slot, n) = last;
}

template <int Half, int R, int C>
WKVC_INLINE void last_column(Tile<f32, R, C>& z, const Tile<f32, R, C>& x, int j, int column_slot) {
  float last = 0.f;
  WKVC_FOR(n, R / layout::kRowGroups, last_slot<Half>(z, x, j, column_slot, n, last));
}

// Every row becomes the last row of the other half of its block, or zero where the tile ends before that half.
template <int Half, int R, int C>
WKVC_INLINE Tile<f32, R, C> last_of_other_half(const Tile<f32, R, C>& x) {
  Tile<f32, R, C> z;
  WKVC_EACH_SLOT(PerColumn, C, last_column<Half>(z, x, i, s));
  return z;
}

// The sum of the other half's rows of a value in each row group, of halves inside a row slot.
template <int Half>
WKVC_INLINE float sum_other_groups(float x) {
  const int group = layout::row_of_slot(0);
  WKVC_UNROLL
  for (int step = 1; step < Half; step *= 2) x += lanes::from_row_group(x, group ^ step);
  return lanes::from_row_group(x, group ^ Half);
}

// The sum of one column's rows first … end - 1, whole row slots.
template <int R, int C>
WKVC_INLINE float sum_row_slots(const Tile<f32, R, C>& x, int j, int column_slot, int first, int end) {
  float sum = 0.f;
  const auto add_slot = [&](int n) WKVC_INLINE_LAMBDA {
    const int row = n * layout::kRowGroups;
    if (row >= first && row < end) sum += row_slot_of(x, j, column_slot, n);
  };
  WKVC_FOR(n, R / layout::kRowGroups, add_slot(n));
  return lanes::sum_row_groups(sum);
}

// One row slot of one column of sum_of_other_half.
template <int Half, int R, int C>
WKVC_INLINE void sum_slot(Tile<f32, R, C>& z, const Tile<f32, R, C>& x, int j, int column_slot, int n) {
  constexpr int kGroups = layout::kRowGroups;
  const int first = n * kGroups, other = other_half<Half>(first), row = first + layout::row_of_slot(0);
  const bool ends = Half < kGroups || first + kGroups == end_of_half<Half, R>(first / Half * Half);
  float sum = 0.f;
  if (Half < kGroups)
    sum = sum_other_groups<Half>(row_slot_of(x, j, column_slot, n));
  else if (ends)
    sum = sum_row_slots(x, j, column_slot, other, end_of_half<Half, R>(other));
  row_slot_of(z, j, column_slot, n) = row + 1 == end_of_half<Half, R>(row / Half * Half) ? sum : 0.f;
}

template <int Half, int R, int C>
WKVC_INLINE void sum_column(Tile<f32, R, C>& z, const Tile<f32, R, C>& x, int j, int column_slot) {
  WKVC_FOR(n, R / layout::kRowGroups, sum_slot<Half>(z, x, j, column_slot, n));
}

// The last row of each half becomes the sum of the other half's rows, other rows zero.
template <int Half, int R, int C>
WKVC_INLINE Tile<f32, R, C> sum_of_other_half(const Tile<f32, R, C>& x) {
  Tile<f32, R, C> z;
  WKVC_EACH_SLOT(PerColumn, C, sum_column<Half>(z, x, i, s));
  return z;
}

// Rows of upper halves are those of x, rows of lower halves those of y.
template <int Half, int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> select_halves(const Tile<f32, R, C, L>& x, const Tile<f32, R, C, L>& y) {
  Tile<f32, R, C, L> z;
  WKVC_EACH_ELEMENT(R, C,
                    z.block[i][j].unit[e] = is_upper<Half>(L::template row_at<R, C>(i, j, e)) ? x.block[i][j].unit[e]
                                                                                              : y.block[i][j].unit[e]);
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
