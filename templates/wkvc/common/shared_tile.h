// Views of tiles in shared memory. Rows are padded by 8 elements, which leaves ldmatrix and float2 without bank
// conflicts. Loads and stores take care of the lanes of one warp; between warps the caller needs a barrier.
#pragma once

#include "wkvc/common/scaled.h"

namespace wkvc {

template <class T, int R, int C, int LD = C + 8>
struct Shared {
  using Element = T;
  static constexpr int kRows = R;
  static constexpr int kColumns = C;
  static constexpr int ld = LD;
  static constexpr int bytes = R * LD * static_cast<int>(sizeof(T));

  T* data;

  WKVC_INLINE T* at(int row, int column) const { return data + row * LD + column; }
  template <int N>
  WKVC_INLINE Shared<T, R, N, LD> cols(int first) const {
    return {at(0, first)};
  }
  template <int N>
  WKVC_INLINE Shared<T, N, C, LD> rows(int first) const {
    return {at(first, 0)};
  }
};

// A shared tile that an operand position reads transposed.
template <class View>
struct Transposed {
  using Element = typename View::Element;
  static constexpr int kRows = View::kColumns;
  static constexpr int kColumns = View::kRows;

  View view;
};

// A shared tile and, elsewhere in shared memory, its scale. Warps that own slabs of one tile store the slabs' data and
// let one of them call store_scale.
template <class T, int R, int C, int LD = C + 8>
struct ScaledShared {
  Shared<T, R, C, LD> view;
  float* scale;

  template <int N>
  WKVC_INLINE ScaledShared<T, R, N, LD> cols(int first) const {
    return {view.template cols<N>(first), scale};
  }
  template <int N>
  WKVC_INLINE ScaledShared<T, N, C, LD> rows(int first) const {
    return {view.template rows<N>(first), scale};
  }
};

template <class T, int R, int C, int LD>
WKVC_INLINE Transposed<Shared<T, R, C, LD>> trans(const Shared<T, R, C, LD>& view) {
  return {view};
}
template <class T, int R, int C, int LD>
WKVC_INLINE Scaled<Transposed<Shared<T, R, C, LD>>> trans(const ScaledShared<T, R, C, LD>& x) {
  return {trans(x.view), *x.scale};
}
template <class T, int R, int C, int LD>
WKVC_INLINE Scaled<Transposed<Shared<T, R, C, LD>>> trans(const Scaled<Shared<T, R, C, LD>>& x) {
  return {trans(x.data), x.scale};
}

// One block of an operand, wherever it lives.
template <class T, int R, int C>
WKVC_INLINE Fragment<T> operand_block(const Tile<T, R, C>& x, int i, int j) {
  return x.block[i][j];
}
template <class T, int R, int C, int LD>
WKVC_INLINE Fragment<T> operand_block(const Shared<T, R, C, LD>& x, int i, int j) {
  return fragment::load(static_cast<const T*>(x.at(16 * i, 16 * j)), LD);
}
template <class T, int R, int C, int LD>
WKVC_INLINE Fragment<T> operand_block(const Transposed<Shared<T, R, C, LD>>& x, int i, int j) {
  return fragment::load_transposed(static_cast<const T*>(x.view.at(16 * j, 16 * i)), LD);
}

// The same as B operand.
template <class T, int R, int C>
WKVC_INLINE fragment::Columns<T> column_block(const Tile<T, R, C>& x, int i, int j) {
  return fragment::columns(x.block[i][j]);
}
template <class T, int R, int C, int LD>
WKVC_INLINE fragment::Columns<T> column_block(const Shared<T, R, C, LD>& x, int i, int j) {
  return fragment::load_columns(static_cast<const T*>(x.at(16 * i, 16 * j)), LD);
}
template <class T, int R, int C, int LD>
WKVC_INLINE fragment::Columns<T> column_block(const Transposed<Shared<T, R, C, LD>>& x, int i, int j) {
  return fragment::load_columns_transposed(static_cast<const T*>(x.view.at(16 * j, 16 * i)), LD);
}

// A tile in registers that is a B operand alone. Tiles lie as A operands are read, and to move their registers takes
// longer than to load them in the order of the other.
template <class T, int R, int C>
struct ColumnTile {
  using Element = T;
  static constexpr int kRows = R;
  static constexpr int kColumns = C;

  fragment::Columns<T> block[R / 16][C / 16];
};
template <class T, int R, int C>
WKVC_INLINE fragment::Columns<T> column_block(const ColumnTile<T, R, C>& x, int i, int j) {
  return x.block[i][j];
}
template <class T, int R, int C, int LD>
WKVC_INLINE ColumnTile<T, C, R> load_columns(const Transposed<Shared<T, R, C, LD>>& x) {
  ColumnTile<T, C, R> tile;
  WKVC_EACH_BLOCK(C, R, tile.block[i][j] = column_block(x, i, j));
  return tile;
}

template <class Operand>
WKVC_INLINE auto load_operand(const Operand& x) {
  Tile<typename Operand::Element, Operand::kRows, Operand::kColumns> tile;
  WKVC_EACH_BLOCK(Operand::kRows, Operand::kColumns, tile.block[i][j] = operand_block(x, i, j));
  return tile;
}

template <class T, int R, int C, int LD>
WKVC_INLINE Tile<T, R, C> load(const Shared<T, R, C, LD>& x) {
  return load_operand(x);
}
template <class T, int R, int C, int LD>
WKVC_INLINE Tile<T, C, R> load_transposed(const Shared<T, R, C, LD>& x) {
  return load_operand(trans(x));
}
template <class T, int R, int C, int LD>
WKVC_INLINE Scaled<Tile<T, R, C>> load(const ScaledShared<T, R, C, LD>& x) {
  return {load(x.view), *x.scale};
}
template <class T, int R, int C, int LD>
WKVC_INLINE Scaled<Tile<T, C, R>> load_transposed(const ScaledShared<T, R, C, LD>& x) {
  return {load_transposed(x.view), *x.scale};
}

template <class T, int R, int C, int LD>
WKVC_INLINE void store(const Shared<T, R, C, LD>& to, const Tile<T, R, C>& x) {
  lanes::sync();  // lanes that still read what is overwritten
  WKVC_EACH_BLOCK(R, C, fragment::store(to.at(16 * i, 16 * j), LD, x.block[i][j]));
  lanes::sync();  // lanes that read it next
}
template <class T, int R, int C, int LD>
WKVC_INLINE void store_transposed(const Shared<T, R, C, LD>& to, const Tile<T, C, R>& x) {
  lanes::sync();
  WKVC_EACH_BLOCK(C, R, fragment::store_transposed(to.at(16 * j, 16 * i), LD, x.block[i][j]));
  lanes::sync();
}

WKVC_INLINE void store_scale(float* to, float scale) {
  lanes::sync();
  if (lanes::is_first()) *to = scale;
  lanes::sync();
}
template <class T, int R, int C, int LD>
WKVC_INLINE void store_scale(const ScaledShared<T, R, C, LD>& to, float scale) {
  store_scale(to.scale, scale);
}

// The data alone: a slab of a tile whose scale one warp stores.
template <class T, int R, int C, int LD, class L>
WKVC_INLINE void store(const ScaledShared<T, R, C, LD>& to, const Tile<T, R, C, L>& x) {
  store(to.view, x);
}
template <class T, int R, int C, int LD, class L>
WKVC_INLINE void store(const ScaledShared<T, R, C, LD>& to, const Scaled<Tile<T, R, C, L>>& x) {
  store(to.view, x.data);
  store_scale(to, x.scale);
}
template <class T, int R, int C, int LD>
WKVC_INLINE void store_transposed(const ScaledShared<T, R, C, LD>& to, const Tile<T, C, R>& x) {
  store_transposed(to.view, x);
}
template <class T, int R, int C, int LD>
WKVC_INLINE void store_transposed(const ScaledShared<T, R, C, LD>& to, const Scaled<Tile<T, C, R>>& x) {
  store_transposed(to.view, x.data);
  store_scale(to, x.scale);
}

template <class Axis, int N>
WKVC_INLINE Vector<Axis, N> load_vector(const float* from) {
  Vector<Axis, N> x;
  WKVC_EACH_SLOT(Axis, N, x.v[i][s] = from[Axis::template position<N>(i, s)]);
  return x;
}
template <class Axis, int N>
WKVC_INLINE void store_vector(float* to, const Vector<Axis, N>& x) {
  lanes::sync();
  WKVC_EACH_SLOT(Axis, N, to[Axis::template position<N>(i, s)] = x.v[i][s]);
  lanes::sync();
}

// A vector in an array of floats in shared memory. The two kinds may be exchanged through it.
template <int C>
WKVC_INLINE RowVec<C> load_row(const float* from) {
  return load_vector<PerColumn, C>(from);
}
template <int R>
WKVC_INLINE ColVec<R> load_column(const float* from) {
  return load_vector<PerRow, R>(from);
}
template <class Axis, int C>
WKVC_INLINE void store_row(float* to, const Vector<Axis, C>& x) {
  store_vector(to, x);
}
template <class Axis, int R>
WKVC_INLINE void store_column(float* to, const Vector<Axis, R>& x) {
  store_vector(to, x);
}

}  // namespace wkvc
