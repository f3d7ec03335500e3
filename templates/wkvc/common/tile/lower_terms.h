// Lower triangular matrices in two terms of f16 that take the memory of one (lower_f16x2): stored, loaded and copied as
// they lie, read by contractions in both terms.
#pragma once

#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

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
// The same as B operand, read in its order.
template <FoldedView View>
WKVC_INLINE fragment::Columns<f16x2> column_block(const View& x, int i, int j) {
  if (i < j) return fragment::Columns<f16x2>{};
  const auto high = fragment::load_columns_at<f16>(pieces_of_block(x, i, j));
  const auto low = fragment::load_columns_transposed_at<f16>(pieces_of_block(x, j, i));
  if (i != j) return fragment::of_terms<f16x2>(high, low);
  return fragment::columns(fragment::lower_terms(fragment::rows(high), fragment::rows(low)));
}
template <FoldedView View>
WKVC_INLINE fragment::Columns<f16x2> column_block(const Transposed<View>& x, int i, int j) {
  if (i > j) return fragment::Columns<f16x2>{};
  const auto high = fragment::load_columns_transposed_at<f16>(pieces_of_block(x.view, j, i));
  const auto low = fragment::load_columns_at<f16>(pieces_of_block(x.view, i, j));
  if (i != j) return fragment::of_terms<f16x2>(high, low);
  return fragment::columns(fragment::upper_terms(fragment::rows(low), fragment::rows(high)));
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
