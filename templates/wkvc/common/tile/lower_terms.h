// Lower triangular matrices in two terms of f16 that take the memory of one (lower_f16x2): stored, loaded and copied as
// they lie, read by contractions in both terms.
#pragma once

#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

// B operands of a matrix of one block, and of several.
template <bool One>
struct OneBlock {
  using UpToDiagonal = fragment::LowerColumns;
  using FromDiagonal = fragment::UpperColumns;
};
template <>
struct OneBlock<false> {
  using UpToDiagonal = fragment::Columns<f16x2>;
  using FromDiagonal = fragment::Columns<f16x2>;
};

template <class X>
concept FoldedView = SharedView<X> && is_same<typename X::Element, lower_f16x2>;

// Block (i, j) of the matrix in two terms.
template <int C>
WKVC_INLINE Fragment<f16x2> operand_block(const Tile<lower_f16x2, C, C>& x, int i, int j) {
  if (i < j) return Fragment<f16x2>{};
  const auto high = fragment::as_it_lies(x.block[i][j]);
  const auto low = fragment::transpose(fragment::as_it_lies(x.block[j][i]));
  return i == j ? fragment::lower_terms(high, low) : fragment::of_terms<f16x2>(high, low);
}
template <int C>
WKVC_INLINE fragment::Columns<f16x2> column_block(const Tile<lower_f16x2, C, C>& x, int i, int j) {
  return fragment::columns(operand_block(x, i, j));
}
template <FoldedView View>
WKVC_INLINE Fragment<f16x2> operand_block(const View& x, int i, int j) {
  if (i < j) return Fragment<f16x2>{};
  const auto high = fragment::load_at<f16>(pieces_of_block(x, i, j));
  const auto low = fragment::load_transposed_at<f16>(pieces_of_block(x, j, i));
  return i == j ? fragment::lower_terms(high, low) : fragment::of_terms<f16x2>(high, low);
}
template <FoldedView View>
WKVC_INLINE Fragment<f16x2> operand_block(const Transposed<View>& x, int i, int j) {
  if (i > j) return Fragment<f16x2>{};
  const auto high = fragment::load_transposed_at<f16>(pieces_of_block(x.view, j, i));
  const auto low = fragment::load_at<f16>(pieces_of_block(x.view, i, j));
  return i == j ? fragment::upper_terms(low, high) : fragment::of_terms<f16x2>(high, low);
}
template <class View>
using ColumnsUpToDiagonal = typename OneBlock<View::kRows == 16>::UpToDiagonal;
template <class View>
using ColumnsFromDiagonal = typename OneBlock<View::kRows == 16>::FromDiagonal;

// The same as B operand, read in its order. Of a matrix of one block it is known which quarter is zero.
template <FoldedView View>
WKVC_INLINE ColumnsUpToDiagonal<View> column_block(const View& x, int i, int j) {
  if (i < j) return ColumnsUpToDiagonal<View>{};
  const auto high = fragment::load_columns_at<f16>(pieces_of_block(x, i, j));
  const auto low = fragment::load_columns_transposed_at<f16>(pieces_of_block(x, j, i));
  if (i != j) return ColumnsUpToDiagonal<View>{fragment::of_terms<f16x2>(high, low)};
  const auto terms = fragment::lower_terms(fragment::rows(high), fragment::rows(low));
  return ColumnsUpToDiagonal<View>{fragment::columns(terms)};
}
template <FoldedView View>
WKVC_INLINE ColumnsFromDiagonal<View> column_block(const Transposed<View>& x, int i, int j) {
  if (i > j) return ColumnsFromDiagonal<View>{};
  const auto high = fragment::load_columns_transposed_at<f16>(pieces_of_block(x.view, j, i));
  const auto low = fragment::load_columns_at<f16>(pieces_of_block(x.view, i, j));
  if (i != j) return ColumnsFromDiagonal<View>{fragment::of_terms<f16x2>(high, low)};
  const auto terms = fragment::upper_terms(fragment::rows(low), fragment::rows(high));
  return ColumnsFromDiagonal<View>{fragment::columns(terms)};
}

template <FoldedView View>
WKVC_INLINE auto load(const View& x) {
  Tile<lower_f16x2, View::kRows, View::kColumns> tile;
  WKVC_EACH_BLOCK(View::kRows, View::kColumns,
                  tile.block[i][j] = fragment::load_at<lower_f16x2>(pieces_of_block(x, i, j)));
  return tile;
}

// The nearest two terms of each element.
template <class T, int C>
  requires is_same<T, lower_f16x2>
WKVC_INLINE Tile<T, C, C> round(const Tile<f32, C, C>& x) {
  const auto terms = round<f16x2>(x);
  const auto folded = [&](int i, int j) WKVC_INLINE_LAMBDA {
    return i == j  ? fragment::fold_terms(terms.block[i][j])
           : i > j ? fragment::high_terms(terms.block[i][j])
                   : fragment::transpose(fragment::low_terms(terms.block[j][i]));
  };
  Tile<T, C, C> y;
  WKVC_EACH_BLOCK(C, C, y.block[i][j] = fragment::as_folded(folded(i, j)));
  return y;
}
template <int C>
WKVC_INLINE Tile<f32, C, C> widen(const Tile<lower_f16x2, C, C>& x) {
  Tile<f16x2, C, C> terms;
  WKVC_EACH_BLOCK(C, C, terms.block[i][j] = operand_block(x, i, j));
  return widen(terms);
}

}  // namespace wkvc
