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

// A vector as it is stored, two elements of 16 bits in a register: loaded ahead of its use, it takes little room.
template <class T, class V>
struct Fetched;
template <class T, class Axis, int N>
struct Fetched<T, Vector<Axis, N>> {
  static constexpr int kElements = Unit<T>::elements, kUnits = Axis::kSlots / kElements;

  typename Unit<T>::type unit[Axis::template kBlocks<N>][kUnits];

  // Pairs of neighbours at once where rows may be moved in pieces.
  template <bool SideBySide = Axis::kPairs && kOnlyAligned>
  WKVC_INLINE void load(const T* from) {
    WKVC_FOR_PLACES(
        i, Axis::template kBlocks<N>, once, 1, u, kUnits,
        unit[i][u] = memory::load_unit<SideBySide>(from + Axis::template position<N>(i, kElements * u),
                                                   from + Axis::template position<N>(i, kElements * (u + 1) - 1)));
  }
};

template <class T, class Axis, int N>
WKVC_INLINE Vector<Axis, N> widen(const Fetched<T, Vector<Axis, N>>& x) {
  Vector<Axis, N> y;
  WKVC_FOR_PLACES(i, Axis::template kBlocks<N>, once, 1, u, (Fetched<T, Vector<Axis, N>>::kUnits),
                  unpack(x.unit[i][u], y.v[i] + u * Unit<T>::elements, T{}));
  return y;
}

// Elements from `first` on of one token of a tensor [B,T,H,D], and the number of one token of a tensor [B,T,H]; zeros
// behind the last of `tokens`.
template <class T, class V>
WKVC_INLINE Fetched<T, V> fetch_token(const TensorArg& t, const BlockBase& block, long long token, long long tokens,
                                      int first) {
  Fetched<T, V> x{};
  if (token < tokens) x.load(token_row<const T>(t, block, token) + first);
  return x;
}
template <class T>
WKVC_INLINE float fetch_token_number(const TensorArg& t, const BlockBase& block, long long token, long long tokens) {
  return token < tokens ? scalar::widen(*token_row<const T>(t, block, token)) : 0.f;
}

// All that the lanes have shared out among them, for each.
template <int N>
WKVC_INLINE RowVec<N> everywhere(const Vector<PerLane, N>& x) {
  RowVec<N> y;
  WKVC_EACH_SLOT(PerColumn, N, y.v[i][s] = lanes::from_span(x.v[layout::span_of(i, s)][layout::span_slot(s)], i, s));
  return y;
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
