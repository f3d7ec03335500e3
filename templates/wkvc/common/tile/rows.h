// Operations that know which row or column an element is in: prefix sums, sums, selections.
#pragma once

#include "wkvc/common/tile/elementwise.h"

namespace wkvc {

// One row slot of one column; `carry` is the sum of the slots before, of which the first has none. Exclusive: the sum
// of the rows before.
template <bool FromLast, bool Exclusive>
WKVC_INLINE void scan_slot(float& value, bool is_first, float& carry) {
  constexpr int kLastGroup = FromLast ? 0 : layout::kRowGroups - 1;
  const float sum = lanes::scan_rows<FromLast>(value);
  const float own = Exclusive ? lanes::from_row_group_before<FromLast>(sum) : sum;
  value = is_first ? own : carry + own;
  const float total = lanes::from_row_group(sum, kLastGroup);
  carry = is_first ? total : carry + total;
}

// Of `slots` row slots in the order of the sum, the one that the n-th is of all.
template <bool FromLast>
WKVC_INLINE constexpr int scanned_slot(int n, int slots) {
  return FromLast ? slots - 1 - n : n;
}

// Of one of the lane's columns its element in row slot n, the slots of all rows being counted.
template <class X>
WKVC_INLINE auto& row_slot_of(X& x, int j, int column_slot, int n) {
  return x.block[n / layout::kRowSlots][j].unit[layout::element(n % layout::kRowSlots, column_slot)];
}

// The running sum of one column.
template <bool FromLast, bool Exclusive, int R, int C>
WKVC_INLINE void scan_column(Tile<f32, R, C>& x, int j, int column_slot) {
  constexpr int kSlots = R / 16 * layout::kRowSlots;
  float carry = 0.f;
  WKVC_FOR(
      n, kSlots,
      scan_slot<FromLast, Exclusive>(row_slot_of(x, j, column_slot, scanned_slot<FromLast>(n, kSlots)), n == 0, carry));
}

template <bool FromLast, bool Exclusive, int R, int C>
WKVC_INLINE Tile<f32, R, C> scan(Tile<f32, R, C> x) {
  WKVC_EACH_SLOT(PerColumn, C, scan_column<FromLast, Exclusive>(x, i, s));
  return x;
}
template <bool FromLast, bool Exclusive, int R>
WKVC_INLINE ColVec<R> scan(ColVec<R> x) {
  constexpr int kSlots = R / 16 * layout::kRowSlots;
  const auto value = [&](int n)
                         WKVC_INLINE_LAMBDA -> float& { return x.v[n / layout::kRowSlots][n % layout::kRowSlots]; };
  float carry = 0.f;
  WKVC_FOR(n, kSlots, scan_slot<FromLast, Exclusive>(value(scanned_slot<FromLast>(n, kSlots)), n == 0, carry));
  return x;
}

// Row i of a tile, or value i of a vector, becomes the sum of those from 0 to i, or from i to the last.
template <class X>
WKVC_INLINE X cumsum(const X& x) {
  return scan<false, false>(x);
}
template <class X>
WKVC_INLINE X reverse_cumsum(const X& x) {
  return scan<true, false>(x);
}
// The same without i itself.
template <class X>
WKVC_INLINE X exclusive_cumsum(const X& x) {
  return scan<false, true>(x);
}
template <class X>
WKVC_INLINE X reverse_exclusive_cumsum(const X& x) {
  return scan<true, true>(x);
}

template <int I, int R, int C>
WKVC_INLINE RowVec<C> row(const Tile<f32, R, C>& x) {
  static_assert(I >= 0 && I < R, "no such row");
  constexpr int kSlot = I % 16 / layout::kRowGroups;
  RowVec<C> y;
  WKVC_EACH_SLOT(
      PerColumn, C,
      y.v[i][s] = lanes::from_row_group(x.block[I / 16][i].unit[layout::element(kSlot, s)], I % layout::kRowGroups));
  return y;
}

// The number of row I.
template <int I, int R>
WKVC_INLINE float row(const ColVec<R>& x) {
  static_assert(I >= 0 && I < R, "no such row");
  return lanes::from_row_group(x.v[I / 16][I % 16 / layout::kRowGroups], I % layout::kRowGroups);
}

// The tile that has x as row I and is zero elsewhere.
template <int I, int R, int C>
WKVC_INLINE Tile<f32, R, C> at_row(const RowVec<C>& x) {
  static_assert(I >= 0 && I < R, "no such row");
  constexpr int kSlot = I % 16 / layout::kRowGroups;
  Tile<f32, R, C> y{};
  if (layout::row_of_slot(kSlot) == I % 16) {
    WKVC_EACH_SLOT(PerColumn, C, y.block[I / 16][i].unit[layout::element(kSlot, s)] = x.v[i][s]);
  }
  return y;
}

// The sum of all rows, before lanes meet for it and after.
template <int R, int C>
WKVC_INLINE RowVec<C> sum_own_rows(const Tile<f32, R, C>& x) {
  RowVec<C> y{};
  WKVC_EACH_ELEMENT(R, C, y.v[j][PerColumn::slot(e)] += x.block[i][j].unit[e]);
  return y;
}
template <int C>
WKVC_INLINE RowVec<C> sum_row_groups(RowVec<C> x) {
  WKVC_EACH_SLOT(PerColumn, C, x.v[i][s] = lanes::sum_row_groups(x.v[i][s]));
  return x;
}
template <int R, int C>
WKVC_INLINE RowVec<C> sum_rows(const Tile<f32, R, C>& x) {
  return sum_row_groups(sum_own_rows(x));
}

template <int R, int C>
WKVC_INLINE ColVec<R> sum_columns(const Tile<f32, R, C>& x) {
  ColVec<R> y{};
  WKVC_EACH_ELEMENT(R, C, y.v[i][PerRow::slot(e)] += x.block[i][j].unit[e]);
  WKVC_EACH_SLOT(PerRow, R, y.v[i][s] = lanes::sum_column_groups(y.v[i][s]));
  return y;
}

// The body of a function of an R x C tile x that keeps x where `condition` of row and column holds, and has zero
// elsewhere. A select: what is dropped may be NaN.
#define WKVC_SELECT(condition)                                                                              \
  const auto kept = [&]([[maybe_unused]] int row, [[maybe_unused]] int column)                              \
                        WKVC_INLINE_LAMBDA { return condition; };                                           \
  Tile<f32, R, C, L> y;                                                                                     \
  WKVC_EACH_ELEMENT(                                                                                        \
      R, C,                                                                                                 \
      y.block[i][j].unit[e] = kept(L::template row_at<R, C>(i, j, e), L::template column_at<R, C>(i, j, e)) \
                                  ? x.block[i][j].unit[e]                                                   \
                                  : 0.f);                                                                   \
  return y

template <int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> keep_rows(const Tile<f32, R, C, L>& x, int rows) {
  WKVC_SELECT(row < rows);
}
template <int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> keep_columns(const Tile<f32, R, C, L>& x, int columns) {
  WKVC_SELECT(column < columns);
}
template <class Axis, int N>
WKVC_INLINE Vector<Axis, N> keep_first(const Vector<Axis, N>& x, int count) {
  Vector<Axis, N> y;
  WKVC_EACH_SLOT(Axis, N, y.v[i][s] = Axis::template position<N>(i, s) < count ? x.v[i][s] : 0.f);
  return y;
}
template <int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> tril(const Tile<f32, R, C, L>& x) {
  WKVC_SELECT(row >= column);
}
template <int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> tril_strict(const Tile<f32, R, C, L>& x) {
  WKVC_SELECT(row > column);
}
template <int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> diagonal(const Tile<f32, R, C, L>& x) {
  WKVC_SELECT(row == column);
}

// One number for each row, or for each column.
template <int R>
WKVC_INLINE ColVec<R> keep_rows(const ColVec<R>& x, int rows) {
  return keep_first(x, rows);
}
template <int C>
WKVC_INLINE RowVec<C> keep_columns(const RowVec<C>& x, int columns) {
  return keep_first(x, columns);
}

// Of a block on the diagonal.
WKVC_INLINE bool is_on_diagonal(int element) { return row_of(0, element) == column_of(0, element); }

// The diagonal as a column.
template <int C>
WKVC_INLINE ColVec<C> diagonal_column(const Tile<f32, C, C>& x) {
  ColVec<C> y{};
  WKVC_EACH_ELEMENT(16, C, y.v[j][PerRow::slot(e)] += is_on_diagonal(e) ? x.block[j][j].unit[e] : 0.f);
  WKVC_EACH_SLOT(PerRow, C, y.v[i][s] = lanes::sum_column_groups(y.v[i][s]));
  return y;
}

// The diagonal as a row.
template <int C>
WKVC_INLINE RowVec<C> diagonal_row(const Tile<f32, C, C>& x) {
  RowVec<C> y{};
  WKVC_EACH_ELEMENT(16, C, y.v[j][PerColumn::slot(e)] += is_on_diagonal(e) ? x.block[j][j].unit[e] : 0.f);
  WKVC_EACH_SLOT(PerColumn, C, y.v[i][s] = lanes::sum_row_groups(y.v[i][s]));
  return y;
}

// A sum along a row of one number for each column: of the triangle of a tile that has the row in each of its rows.
template <bool FromLast, bool Exclusive, int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> terms_of_sums(const Tile<f32, R, C, L>& x) {
  WKVC_SELECT((FromLast ? column > row : column < row) || (!Exclusive && column == row));
}
template <bool FromLast, bool Exclusive, int C>
WKVC_INLINE RowVec<C> scan(const RowVec<C>& x) {
  return diagonal_row(zeros<C, C>() + sum_columns(terms_of_sums<FromLast, Exclusive>(zeros<C, C>() + x)));
}

}  // namespace wkvc
