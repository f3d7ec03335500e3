// Shared tiles of 16-bit elements whose rows are not padded, as what is copied from global memory may lie: copies then
// fill whole lines of shared memory, in a quarter of the time that padded rows take. So that columns are read without
// bank conflicts, the pieces of 16 bytes of a row are exchanged, in another order from row to row.
#pragma once

#include "wkvc/common/shared_tile.h"

namespace wkvc {

// Elements of a piece of 16 bytes.
template <class T>
inline constexpr int kPiece = 16 / static_cast<int>(sizeof(T));

// Where a piece of a row of `across` pieces lies. Lines have 8 pieces, of one row or of several.
WKVC_INLINE constexpr int exchanged_piece(int row, int piece, int across) {
  const int whole = across & -across, group = whole < 8 ? whole : 8;  // the largest power of two that divides them
  return piece ^ (row / (8 / group) % group);
}

// Columns `first` … first + C - 1 of a tile with rows of W elements.
template <class T, int R, int C, int W>
struct ExchangedColumns {
  static_assert(sizeof(T) == 2, "pieces have 8 elements");
  using Element = T;
  static constexpr int kRows = R;
  static constexpr int kColumns = C;
  static constexpr int bytes = R * W * static_cast<int>(sizeof(T));

  T* data;
  int first = 0;

  WKVC_INLINE T* at(int row, int column) const {
    const int from_first = first + column;
    return data + row * W + exchanged_piece(row, from_first / kPiece<T>, W / kPiece<T>) * kPiece<T> +
           from_first % kPiece<T>;
  }
  template <int N>
  WKVC_INLINE ExchangedColumns<T, R, N, W> cols(int from) const {
    return {data, first + from};
  }
};
template <class T, int R, int C>
using Exchanged = ExchangedColumns<T, R, C, C>;

template <class T, int R, int C, int W>
WKVC_INLINE Transposed<ExchangedColumns<T, R, C, W>> trans(const ExchangedColumns<T, R, C, W>& view) {
  return {view};
}

// Where block (i, j) has its pieces.
template <class View>
WKVC_INLINE auto pieces_of_block(const View& x, int i, int j) {
  return [x, i, j](int row, int column) WKVC_INLINE_LAMBDA { return x.at(16 * i + row, 16 * j + column); };
}

template <class T, int R, int C, int W>
WKVC_INLINE Fragment<T> operand_block(const ExchangedColumns<T, R, C, W>& x, int i, int j) {
  return fragment::load_at<T>(pieces_of_block(x, i, j));
}
template <class T, int R, int C, int W>
WKVC_INLINE Fragment<T> operand_block(const Transposed<ExchangedColumns<T, R, C, W>>& x, int i, int j) {
  return fragment::load_transposed_at<T>(pieces_of_block(x.view, j, i));
}
template <class T, int R, int C, int W>
WKVC_INLINE fragment::Columns<T> column_block(const ExchangedColumns<T, R, C, W>& x, int i, int j) {
  return fragment::load_columns_at<T>(pieces_of_block(x, i, j));
}
template <class T, int R, int C, int W>
WKVC_INLINE fragment::Columns<T> column_block(const Transposed<ExchangedColumns<T, R, C, W>>& x, int i, int j) {
  return fragment::load_columns_transposed_at<T>(pieces_of_block(x.view, j, i));
}

template <class T, int R, int C, int W>
WKVC_INLINE Tile<T, R, C> load(const ExchangedColumns<T, R, C, W>& x) {
  return load_operand(x);
}
template <class T, int R, int C, int W>
WKVC_INLINE Tile<T, C, R> load_transposed(const ExchangedColumns<T, R, C, W>& x) {
  return load_operand(trans(x));
}

}  // namespace wkvc
