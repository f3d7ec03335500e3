// Values in registers: tiles of 16x16 blocks, and vectors with one f32 per row or per column of a tile.
#pragma once

#include "wkvc/common/target.h"

namespace wkvc {

// Which slots of a block a vector has values for: slot s of block i is its value `position`.
struct PerColumn {
  template <int N>
  static constexpr int kBlocks = N / 16;
  static constexpr int kSlots = layout::kColumnSlots;
  static WKVC_INLINE constexpr int slot(int element) { return layout::column_slot(element); }
  template <int N>
  static WKVC_INLINE int position(int i, int slot) {
    return 16 * i + layout::column_of_slot(slot);
  }
  // Of the lanes that hold the same values, one.
  static WKVC_INLINE bool is_first_holder() { return lanes::is_first_row_group(); }
};
struct PerRow {
  template <int N>
  static constexpr int kBlocks = N / 16;
  static constexpr int kSlots = layout::kRowSlots;
  static WKVC_INLINE constexpr int slot(int element) { return layout::row_slot(element); }
  template <int N>
  static WKVC_INLINE int position(int i, int slot) {
    return 16 * i + layout::row_of_slot(slot);
  }
  static WKVC_INLINE bool is_first_holder() { return lanes::is_first_column_group(); }
};

// Where element e of a block lies in its tile: the row from the block row, the column from the block column.
WKVC_INLINE int row_of(int i, int e) { return 16 * i + layout::row_of_slot(layout::row_slot(e)); }
WKVC_INLINE int column_of(int j, int e) { return 16 * j + layout::column_of_slot(layout::column_slot(e)); }

// How the lanes share a tile. In 16x16 blocks, each in the order of layout.h, as contractions take them; Strips
// (strips.h) are the other way.
struct Blocks {
  using Columns = PerColumn;
  template <int C>
  using Rows = PerRow;

  // Where element e of block (i, j) of an R x C tile lies, and what vectors have beside it.
  template <int R, int C>
  static WKVC_INLINE int row_at(int i, int /*j*/, int e) {
    return row_of(i, e);
  }
  template <int R, int C>
  static WKVC_INLINE int column_at(int /*i*/, int j, int e) {
    return column_of(j, e);
  }
  template <int C, class Vector>
  static WKVC_INLINE float beside_row(const Vector& row, int /*i*/, int j, int e) {
    return row.v[j][layout::column_slot(e)];
  }
  template <int C, class Vector>
  static WKVC_INLINE float beside_column(const Vector& column, int i, int /*j*/, int e) {
    return column.v[i][layout::row_slot(e)];
  }
};

template <class T, int R, int C, class Layout = Blocks>
struct Tile {
  static_assert(R % 16 == 0 && C % 16 == 0, "a tile is made of 16x16 blocks");
  using Element = T;
  static constexpr int kRows = R;
  static constexpr int kColumns = C;

  Fragment<T> block[R / 16][C / 16];
};

template <class Axis, int N>
struct Vector {
  static_assert(N % 16 == 0, "a vector goes with 16x16 blocks");
  float v[Axis::template kBlocks<N>][Axis::kSlots];
};

// One row, a value per column, and one column, a value per row, beside blocks or beside R x C tiles of a layout.
template <int C>
using RowVec = Vector<PerColumn, C>;
template <int R>
using ColVec = Vector<PerRow, R>;
template <class Layout, int C>
using RowOf = Vector<typename Layout::Columns, C>;
template <class Layout, int R, int C>
using ColumnOf = Vector<typename Layout::template Rows<C>, R>;

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
#define WKVC_EACH_SLOT(Axis, N, ...) \
  WKVC_FOR_PLACES(i, Axis::template kBlocks<(N)>, once, 1, s, Axis::kSlots, __VA_ARGS__)

// An expression for each of the registers of an R x C tile of T: unit u of block (i, j).
#define WKVC_EACH_UNIT(T, R, C, ...) \
  WKVC_FOR_PLACES(i, (R) / 16, j, (C) / 16, u, layout::kElements / Unit<T>::elements, __VA_ARGS__)

// Nearest T, ties to even.
template <class T, int R, int C, class L>
WKVC_INLINE Tile<T, R, C, L> round(const Tile<f32, R, C, L>& x) {
  Tile<T, R, C, L> y;
  WKVC_EACH_UNIT(T, R, C, y.block[i][j].unit[u] = pack(x.block[i][j].unit + u * Unit<T>::elements, T{}));
  return y;
}

template <class T, int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> widen(const Tile<T, R, C, L>& x) {
  Tile<f32, R, C, L> y;
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
