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

// The loops over the blocks of an R x C tile, in block row i and block column j.
#define WKVC_EACH_BLOCK(R, C) \
  WKVC_UNROLL for (int i = 0; i < (R) / 16; ++i) WKVC_UNROLL for (int j = 0; j < (C) / 16; ++j)

// The loops over every f32 this lane holds of an R x C tile: element e of block (i, j).
// Macros, and no functions that call a lambda: most of the time that NVRTC takes for a kernel is its optimizer's, and
// there every layer of calls that each operation on tiles goes through has to be inlined away first. (A forward kernel:
// 0.60 to 0.76 s in the optimizer instead of 1.07 to 1.14, beside 0.4 s for all the rest.)
#define WKVC_EACH_ELEMENT(R, C) WKVC_EACH_BLOCK(R, C) WKVC_UNROLL for (int e = 0; e < layout::kElements; ++e)

// The loops over every f32 this lane holds of a vector: slot s of block i.
#define WKVC_EACH_SLOT(Axis, N) \
  WKVC_UNROLL for (int i = 0; i < (N) / 16; ++i) WKVC_UNROLL for (int s = 0; s < Axis::kSlots; ++s)

// The loops over the registers of an R x C tile of T: unit u of block (i, j).
#define WKVC_EACH_UNIT(T, R, C) \
  WKVC_EACH_BLOCK(R, C) WKVC_UNROLL for (int u = 0; u < layout::kElements / Unit<T>::elements; ++u)

// Nearest T, ties to even.
template <class T, int R, int C>
WKVC_INLINE Tile<T, R, C> round(const Tile<f32, R, C>& x) {
  Tile<T, R, C> y;
  WKVC_EACH_UNIT(T, R, C)
  y.block[i][j].unit[u] = pack(x.block[i][j].unit + u * Unit<T>::elements, T{});
  return y;
}

template <class T, int R, int C>
WKVC_INLINE Tile<f32, R, C> widen(const Tile<T, R, C>& x) {
  Tile<f32, R, C> y;
  WKVC_EACH_UNIT(T, R, C)
  unpack(x.block[i][j].unit[u], y.block[i][j].unit + u * Unit<T>::elements, T{});
  return y;
}

template <class T, int R, int C>
WKVC_INLINE Tile<T, C, R> transpose(const Tile<T, R, C>& x) {
  Tile<T, C, R> y;
  WKVC_EACH_BLOCK(R, C) y.block[j][i] = fragment::transpose(x.block[i][j]);
  return y;
}

}  // namespace wkvc
