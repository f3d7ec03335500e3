// Values in registers: tiles of 16x16 blocks, and vectors with one f32 per row or per column of a tile.
#pragma once

#include "wkvc/common/target.h"

namespace wkvc {

template <class T, int R, int C>
struct Tile {
  static_assert(R % 16 == 0 && C % 16 == 0, "a tile is made of 16x16 blocks");
  using Element = T;
  static constexpr int kRows = R;
  static constexpr int kColumns = C;

  Fragment<T> block[R / 16][C / 16];
};

// Which slots of a block a vector has values for, and where they lie in the block.
struct PerColumn {
  static constexpr int kSlots = layout::kColumnSlots;
  static WKVC_INLINE constexpr int slot(int element) { return layout::column_slot(element); }
  static WKVC_INLINE int position(int slot) { return layout::column_of_slot(slot); }
  // Of the lanes that hold the same values, one.
  static WKVC_INLINE bool is_first_holder() { return lanes::is_first_row_group(); }
};
struct PerRow {
  static constexpr int kSlots = layout::kRowSlots;
  static WKVC_INLINE constexpr int slot(int element) { return layout::row_slot(element); }
  static WKVC_INLINE int position(int slot) { return layout::row_of_slot(slot); }
  static WKVC_INLINE bool is_first_holder() { return lanes::is_first_column_group(); }
};

// Where element e of a block lies in its tile: the row from the block row, the column from the block column.
WKVC_INLINE int row_of(int i, int e) { return 16 * i + PerRow::position(PerRow::slot(e)); }
WKVC_INLINE int column_of(int j, int e) { return 16 * j + PerColumn::position(PerColumn::slot(e)); }

template <class Axis, int N>
struct Vector {
  static_assert(N % 16 == 0, "a vector goes with 16x16 blocks");
  float v[N / 16][Axis::kSlots];
};

template <int C>
using RowVec = Vector<PerColumn, C>;  // one row: a value per column
template <int R>
using ColVec = Vector<PerRow, R>;  // one column: a value per row

template <int R, int C>
WKVC_INLINE Tile<f32, R, C> zeros() {
  return Tile<f32, R, C>{};
}

// An expression for each of the blocks of an R x C tile, in block row i and block column j. (`once` is 0: an index that
// is not needed.)
#define WKVC_EACH_BLOCK(R, C, ...) WKVC_FOR_PLACES(i, (R) / 16, j, (C) / 16, once, 1, __VA_ARGS__)

// An expression for every f32 this lane holds of an R x C tile: element e of block (i, j).
#define WKVC_EACH_ELEMENT(R, C, ...) WKVC_FOR_PLACES(i, (R) / 16, j, (C) / 16, e, layout::kElements, __VA_ARGS__)

// An expression for every f32 this lane holds of a vector: slot s of block i.
#define WKVC_EACH_SLOT(Axis, N, ...) WKVC_FOR_PLACES(i, (N) / 16, once, 1, s, Axis::kSlots, __VA_ARGS__)

// An expression for each of the registers of an R x C tile of T: unit u of block (i, j).
#define WKVC_EACH_UNIT(T, R, C, ...) \
  WKVC_FOR_PLACES(i, (R) / 16, j, (C) / 16, u, layout::kElements / Unit<T>::elements, __VA_ARGS__)

// Nearest T, ties to even.
template <class T, int R, int C>
WKVC_INLINE Tile<T, R, C> round(const Tile<f32, R, C>& x) {
  Tile<T, R, C> y;
  WKVC_EACH_UNIT(T, R, C, y.block[i][j].unit[u] = pack(x.block[i][j].unit + u * Unit<T>::elements, T{}));
  return y;
}

template <class T, int R, int C>
WKVC_INLINE Tile<f32, R, C> widen(const Tile<T, R, C>& x) {
  Tile<f32, R, C> y;
  WKVC_EACH_UNIT(T, R, C, unpack(x.block[i][j].unit[u], y.block[i][j].unit + u * Unit<T>::elements, T{}));
  return y;
}

template <class T, int R, int C>
WKVC_INLINE Tile<T, C, R> transpose(const Tile<T, R, C>& x) {
  Tile<T, C, R> y;
  WKVC_EACH_BLOCK(R, C, y.block[j][i] = fragment::transpose(x.block[i][j]));
  return y;
}

}  // namespace wkvc
