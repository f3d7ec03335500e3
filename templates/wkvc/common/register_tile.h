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

// Calls f(block row, block column, element) for every f32 this lane holds of an R x C tile.
template <int R, int C, class F>
WKVC_INLINE void for_each_element(F f) {
  WKVC_UNROLL
  for (int i = 0; i < R / 16; ++i) {
    WKVC_UNROLL
    for (int j = 0; j < C / 16; ++j) {
      WKVC_UNROLL
      for (int e = 0; e < layout::kElements; ++e) f(i, j, e);
    }
  }
}

// Calls f(block, slot) for every f32 this lane holds of a vector.
template <class Axis, int N, class F>
WKVC_INLINE void for_each_slot(F f) {
  WKVC_UNROLL
  for (int i = 0; i < N / 16; ++i) {
    WKVC_UNROLL
    for (int s = 0; s < Axis::kSlots; ++s) f(i, s);
  }
}

template <class T>
WKVC_INLINE Fragment<T> round_block(const Fragment<f32>& x) {
  constexpr int kPack = Unit<T>::elements;
  Fragment<T> y;
  WKVC_UNROLL
  for (int u = 0; u < layout::kElements / kPack; ++u) y.unit[u] = pack(x.unit + u * kPack, T{});
  return y;
}

template <class T>
WKVC_INLINE Fragment<f32> widen_block(const Fragment<T>& x) {
  constexpr int kPack = Unit<T>::elements;
  Fragment<f32> y;
  WKVC_UNROLL
  for (int u = 0; u < layout::kElements / kPack; ++u) unpack(x.unit[u], y.unit + u * kPack, T{});
  return y;
}

// The same tile with every block replaced by f(block).
template <class To, class T, int R, int C, class F>
WKVC_INLINE Tile<To, R, C> map_blocks(const Tile<T, R, C>& x, F f) {
  Tile<To, R, C> y;
  WKVC_UNROLL
  for (int i = 0; i < R / 16; ++i) {
    WKVC_UNROLL
    for (int j = 0; j < C / 16; ++j) y.block[i][j] = f(x.block[i][j]);
  }
  return y;
}

// Nearest T, ties to even.
template <class T, int R, int C>
WKVC_INLINE Tile<T, R, C> round(const Tile<f32, R, C>& x) {
  return map_blocks<T>(x, [](const Fragment<f32>& block) { return round_block<T>(block); });
}

template <class T, int R, int C>
WKVC_INLINE Tile<f32, R, C> widen(const Tile<T, R, C>& x) {
  return map_blocks<f32>(x, [](const Fragment<T>& block) { return widen_block(block); });
}

template <class T, int R, int C>
WKVC_INLINE Tile<T, C, R> transpose(const Tile<T, R, C>& x) {
  Tile<T, C, R> y;
  WKVC_UNROLL
  for (int i = 0; i < R / 16; ++i) {
    WKVC_UNROLL
    for (int j = 0; j < C / 16; ++j) y.block[j][i] = fragment::transpose(x.block[i][j]);
  }
  return y;
}

}  // namespace wkvc
