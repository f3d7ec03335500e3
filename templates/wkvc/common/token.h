// One token of a sequence: its vectors over keys and over a warp's 16 value rows, and what is computed from them in
// f32.
#pragma once

#include "wkvc/common/elementwise.h"
#include "wkvc/common/global.h"
#include "wkvc/common/rows.h"

namespace wkvc {

// A vector with one number in all elements.
template <class V>
WKVC_INLINE V filled(float number) {
  using Axis = typename VectorShape<V>::Axis;
  V x;
  WKVC_EACH_SLOT(Axis, VectorShape<V>::kSize, x.v[i][s] = number);
  return x;
}

// Elements from `first` on of one token of a tensor [B,T,H,D], and the number of one token of a tensor [B,T,H].
template <class T, class V>
WKVC_INLINE V load_token(const TensorArg& t, const BlockBase& block, long long token, int first) {
  return load_elements<V>(token_row<const T>(t, block, token) + first);
}
template <class T>
WKVC_INLINE float load_token_number(const TensorArg& t, const BlockBase& block, long long token) {
  return scalar::widen(*token_row<const T>(t, block, token));
}

// The number of this head of a tensor [H].
template <class T>
WKVC_INLINE float load_parameter_number(const TensorArg& t, const BlockBase& block) {
  return scalar::widen(static_cast<const T*>(t.data)[block.head * t.head]);
}

// Rounds to T and writes elements from `first` on of one token, or the token's number.
template <class T, class Axis, int N>
WKVC_INLINE void store_token(const TensorArg& t, const BlockBase& block, long long token, int first,
                             const Vector<Axis, N>& x) {
  if (!Axis::is_first_holder()) return;
  T* to = token_row<T>(t, block, token) + first;
  WKVC_EACH_SLOT(Axis, N, to[Axis::template position<N>(i, s)] = scalar::round<T>(x.v[i][s]));
}
template <class T>
WKVC_INLINE void store_token(const TensorArg& t, const BlockBase& block, long long token, float x) {
  if (lanes::is_first()) *token_row<T>(t, block, token) = scalar::round<T>(x);
}

// The product of a warp's rows of a matrix and a vector over keys.
template <int R, int K>
WKVC_INLINE ColVec<R> dot(const Tile<f32, R, K>& matrix, const RowVec<K>& vector) {
  return sum_columns(matrix * vector);
}
// The scalar product of two vectors over keys.
template <int K>
WKVC_INLINE float dot(const RowVec<K>& x, const RowVec<K>& y) {
  float sum = 0.f;
  WKVC_EACH_SLOT(PerColumn, K, sum += x.v[i][s] * y.v[i][s]);
  return lanes::sum_column_groups(sum);
}
// A warp's rows of column · rowᵀ.
template <int R, int K>
WKVC_INLINE Tile<f32, R, K> outer(const ColVec<R>& column, const RowVec<K>& row) {
  Tile<f32, R, K> x;
  WKVC_EACH_ELEMENT(R, K, x.block[i][j].unit[e] = column.v[i][PerRow::slot(e)] * row.v[j][PerColumn::slot(e)]);
  return x;
}

}  // namespace wkvc
