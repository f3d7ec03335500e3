// Views of tiles in shared memory, which no access of the lanes finds in conflicting banks. Rows of 32 bits are padded
// by 8 elements, of two terms, which ldmatrix takes, by 4. Elements of 16 bits lie in pieces of 16 rows by 8 columns,
// whose rows follow each other, as ldmatrix and the descriptors of wgmma take them; with 16 bytes after each piece, for
// strips that are stored. Tiles of 128 rows and more, as states are, have nothing between pieces. Loads and stores take
// care of the lanes of one warp; between warps the caller needs a barrier.
#pragma once

#include "wkvc/common/tile/scaled.h"

namespace wkvc {

// Columns of a piece, and elements from its first one to that of the next piece, with bytes in between and without.
template <class T>
inline constexpr int kPiece = 16 / static_cast<int>(sizeof(T));
template <class T>
inline constexpr int kApart = (16 + 1) * kPiece<T>;
template <class T>
inline constexpr int kDense = 16 * kPiece<T>;

template <class T>
inline constexpr bool lies_in_pieces = sizeof(T) == 2;

// Elements from one row to the next; of tiles in pieces, from 16 rows to the next 16.
template <class T, int R, int C>
inline constexpr int kStride =
    lies_in_pieces<T> ? C / kPiece<T> * (R < 128 ? kApart<T> : kDense<T>) : C + (TwoTerms<T> ? 4 : 8);

// Elements from piece to piece, of a tile that has LD to the next 16 rows: none of 16 to 256 columns has the same LD in
// both ways.
template <class T, int LD>
inline constexpr int kPieceStride = LD % kApart<T> == 0 ? kApart<T> : kDense<T>;

template <class T, int R, int C, int LD = kStride<T, R, C>>
struct Shared {
  using Element = T;
  static constexpr int kRows = R;
  static constexpr int kColumns = C;
  static constexpr int kLength = LD;
  static constexpr int bytes = (lies_in_pieces<T> ? R / 16 : R) * LD * static_cast<int>(sizeof(T));

  T* data;

  WKVC_INLINE T* at(int row, int column) const {
    if constexpr (lies_in_pieces<T>) {
      const int in_piece = row % 16 * kPiece<T> + column % kPiece<T>;
      return data + (row / 16 * LD + column / kPiece<T> * kPieceStride<T, LD> + in_piece);
    } else {
      return data + row * LD + column;
    }
  }
  template <int N>
  WKVC_INLINE Shared<T, R, N, LD> cols(int first) const {
    return {at(0, first)};
  }
  template <int N>
  WKVC_INLINE Shared<T, N, C, LD> rows(int first) const {
    return {at(first, 0)};
  }
};

// A tile in shared memory, of whatever rows: one of those above, or of a ring (ring_tile.h).
template <class X>
concept SharedView = requires(const X& x) {
  typename X::Element;
  x.at(0, 0);
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
template <class T, int R, int C, int LD = kStride<T, R, C>>
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

template <SharedView View>
WKVC_INLINE Transposed<View> trans(const View& view) {
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

// Block (i, j): where its pieces begin that lie one after the other, at(row, column).
template <class T, int R, int C, int LD>
WKVC_INLINE auto pieces_of_block(const Shared<T, R, C, LD>& x, int i, int j) {
  T* const block = x.at(16 * i, 16 * j);
  return [block](int row, int column) WKVC_INLINE_LAMBDA { return Shared<T, R, C, LD>{block}.at(row, column); };
}

// One block of an operand, wherever it lives.
template <class T, int R, int C>
WKVC_INLINE Fragment<T> operand_block(const Tile<T, R, C>& x, int i, int j) {
  return x.block[i][j];
}
template <SharedView View>
WKVC_INLINE auto operand_block(const View& x, int i, int j) {
  using T = typename View::Element;
  if constexpr (lies_in_pieces<T>)
    return fragment::load_at<T>(pieces_of_block(x, i, j));
  else
    return fragment::load(static_cast<const T*>(x.at(16 * i, 16 * j)), View::kLength);
}
template <class View>
WKVC_INLINE auto operand_block(const Transposed<View>& x, int i, int j) {
  using T = typename View::Element;
  if constexpr (lies_in_pieces<T>)
    return fragment::load_transposed_at<T>(pieces_of_block(x.view, j, i));
  else
    return fragment::load_transposed(static_cast<const T*>(x.view.at(16 * j, 16 * i)), View::kLength);
}

// The same as B operand.
template <class T, int R, int C>
WKVC_INLINE fragment::Columns<T> column_block(const Tile<T, R, C>& x, int i, int j) {
  return fragment::columns(x.block[i][j]);
}
template <SharedView View>
WKVC_INLINE auto column_block(const View& x, int i, int j) {
  using T = typename View::Element;
  if constexpr (lies_in_pieces<T>)
    return fragment::load_columns_at<T>(pieces_of_block(x, i, j));
  else
    return fragment::load_columns(static_cast<const T*>(x.at(16 * i, 16 * j)), View::kLength);
}
template <class View>
WKVC_INLINE auto column_block(const Transposed<View>& x, int i, int j) {
  using T = typename View::Element;
  if constexpr (lies_in_pieces<T>)
    return fragment::load_columns_transposed_at<T>(pieces_of_block(x.view, j, i));
  else
    return fragment::load_columns_transposed(static_cast<const T*>(x.view.at(16 * j, 16 * i)), View::kLength);
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

template <SharedView View>
WKVC_INLINE auto load(const View& x) {
  return load_operand(x);
}
template <SharedView View>
WKVC_INLINE auto load_transposed(const View& x) {
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
WKVC_INLINE void store_block(const Shared<T, R, C, LD>& to, int i, int j, const Fragment<T>& x) {
  if constexpr (lies_in_pieces<T>)
    fragment::store_at<T>(pieces_of_block(to, i, j), x);
  else
    fragment::store(to.at(16 * i, 16 * j), LD, x);
}
template <class T, int R, int C, int LD>
WKVC_INLINE void store_block_transposed(const Shared<T, R, C, LD>& to, int i, int j, const Fragment<T>& x) {
  if constexpr (lies_in_pieces<T>)
    fragment::store_transposed_at<T>(pieces_of_block(to, i, j), x);
  else
    fragment::store_transposed(to.at(16 * i, 16 * j), LD, x);
}

template <class T, int R, int C, int LD>
WKVC_INLINE void store(const Shared<T, R, C, LD>& to, const Tile<T, R, C>& x) {
  lanes::sync();  // lanes that still read what is overwritten
  WKVC_EACH_BLOCK(R, C, store_block(to, i, j, x.block[i][j]));
  lanes::sync();  // lanes that read it next
}
template <class T, int R, int C, int LD>
WKVC_INLINE void store_transposed(const Shared<T, R, C, LD>& to, const Tile<T, C, R>& x) {
  lanes::sync();
  WKVC_EACH_BLOCK(C, R, store_block_transposed(to, j, i, x.block[i][j]));
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

// A number of the chunk, which all lanes have.
WKVC_INLINE float load_number(const float* from) { return *from; }
WKVC_INLINE void store_number(float* to, float x) {
  lanes::sync();
  if (lanes::is_first()) *to = x;
  lanes::sync();
}

}  // namespace wkvc
