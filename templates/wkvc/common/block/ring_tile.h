// Shared tiles of 16-bit elements as they are copied from global memory, in whole rows. Padded rows take no arithmetic
// to find. Where they are not, copies fill whole lines of shared memory, in a quarter of the time; so that columns are
// read without bank conflicts, the pieces of 16 bytes of a row are then exchanged, in another order from row to row.
#pragma once

#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

// Where a piece of a row of `across` pieces lies. Lines have 8 pieces, of one row or of several.
WKVC_INLINE constexpr int exchanged_piece(int row, int piece, int across) {
  const int whole = across & -across, group = whole < 8 ? whole : 8;  // the largest power of two that divides them
  return piece ^ (row / (8 / group) % group);
}

// Of rows of W elements: those from one to the next, and which of a tile's lies in a column.
template <int W>
struct PaddedRows {
  static constexpr int kLength = W + 8;
  static WKVC_INLINE int place(int row, int column) { return row * kLength + column; }
};
template <int W>
struct ExchangedRows {
  static constexpr int kLength = W;
  static WKVC_INLINE int place(int row, int column) {
    constexpr int kAcross = kPiece<u16>;
    return row * W + exchanged_piece(row, column / kAcross, W / kAcross) * kAcross + column % kAcross;
  }
};

// Columns `first` … first + C - 1 of a tile whose rows lie like that.
template <class Rows, class T, int R, int C>
struct RingColumns {
  static_assert(sizeof(T) == 2, "pieces have 8 elements");
  using Element = T;
  static constexpr int kRows = R;
  static constexpr int kColumns = C;
  static constexpr int kLength = Rows::kLength;
  static constexpr int bytes = R * kLength * static_cast<int>(sizeof(T));

  T* data;
  int first = 0;

  WKVC_INLINE T* at(int row, int column) const { return data + Rows::place(row, first + column); }
  template <int N>
  WKVC_INLINE RingColumns<Rows, T, R, N> cols(int from) const {
    return {data, first + from};
  }
};

// A whole tile. Rows of f32 are padded in any case.
template <class T, int R, int C>
using Exchanged = RingColumns<ExchangedRows<C>, T, R, C>;
template <class T, int R, int C>
struct PaddedTile {
  using type = RingColumns<PaddedRows<C>, T, R, C>;
};
template <int R, int C>
struct PaddedTile<f32, R, C> {
  using type = Shared<f32, R, C>;
};
template <class T, int R, int C>
using Padded = typename PaddedTile<T, R, C>::type;

// A matrix of lower_f16x2 that was copied as one of f16.
template <class Rows, int C>
WKVC_INLINE RingColumns<Rows, lower_f16x2, C, C> folded(const RingColumns<Rows, f16, C, C>& x) {
  return {static_cast<lower_f16x2*>(x.data)};
}

// Where block (i, j) has its pieces.
template <class Rows, class T, int R, int C>
WKVC_INLINE auto pieces_of_block(const RingColumns<Rows, T, R, C>& x, int i, int j) {
  return [x, i, j](int row, int column) WKVC_INLINE_LAMBDA { return x.at(16 * i + row, 16 * j + column); };
}

}  // namespace wkvc
