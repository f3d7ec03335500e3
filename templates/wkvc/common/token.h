// One token of a sequence: its vectors over keys and over a warp's 16 value rows, and what is computed from them in
// f32.
#pragma once

#include "wkvc/common/global/global.h"
#include "wkvc/common/tile/elementwise.h"
#include "wkvc/common/tile/rows.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/half_warps.h"
#else
#include "wkvc/host/half_warps.h"
#endif

namespace wkvc {

// A warp's 16 rows of a state, and a value for each of its columns. (ValueVec has one for each row.)
template <int K>
using TokenState = Tile<f32, 16, K, HalfWarps>;
template <int K>
using KeyVec = RowOf<HalfWarps, K>;

// A vector with one number in all elements.
template <class V>
WKVC_INLINE V filled(float number) {
  using Axis = typename VectorShape<V>::Axis;
  V x;
  WKVC_EACH_SLOT(Axis, VectorShape<V>::kSize, x.v[i][s] = number);
  return x;
}

// A vector, or a number, as it is stored, two elements of 16 bits in a register: loaded ahead of its use, it takes
// little room.
template <class T, class V>
struct Fetched;
template <class T, class Axis, int N>
struct Fetched<T, Vector<Axis, N>> {
  static constexpr int kElements = Unit<T>::elements, kValues = Axis::template kBlocks<N> * Axis::kSlots,
                       kUnits = (kValues + kElements - 1) / kElements;

  typename Unit<T>::type unit[kUnits];

  // Return the place of this lane's first element, and from there that of the n-th, or of the last one for a larger n.
  static WKVC_INLINE int first() { return Axis::template position<N>(0, 0); }
  static WKVC_INLINE int behind_first(int n) {
    const int own = n < kValues ? n : kValues - 1;
    return Axis::template position<N>(own / Axis::kSlots, own % Axis::kSlots) - first();
  }

  // From a row's element first(): neighbours at once where rows may be moved in pieces.
  template <bool AtOnce = kOnlyAligned>
  WKVC_INLINE void load(const T* from) {
    constexpr int kRun = half_warps::kNeighbours<Axis, N>;
    if constexpr (AtOnce && kRun > 1) {
      WKVC_FOR(n, kValues / kRun,
               memory::load_neighbours<kRun>(from + behind_first(kRun * n), unit + kRun / kElements * n));
    } else {
      WKVC_FOR(u, kUnits,
               unit[u] =
                   memory::load_unit(from + behind_first(kElements * u), from + behind_first(kElements * (u + 1) - 1)));
    }
  }
};
template <class T>
struct Fetched<T, float> {
  T number;

  static WKVC_INLINE int first() { return 0; }
  WKVC_INLINE void load(const T* from) { number = *from; }
};

template <class T, class Axis, int N>
WKVC_INLINE Vector<Axis, N> widen(const Fetched<T, Vector<Axis, N>>& x) {
  using From = Fetched<T, Vector<Axis, N>>;
  float values[From::kUnits * From::kElements];
  WKVC_FOR(u, From::kUnits, unpack(x.unit[u], values + u * From::kElements, T{}));
  Vector<Axis, N> y;
  WKVC_EACH_SLOT(Axis, N, y.v[i][s] = values[i * Axis::kSlots + s]);
  return y;
}
template <class T>
WKVC_INLINE float widen(const Fetched<T, float>& x) {
  return scalar::widen(x.number);
}

// Elements from `first` on of a tensor [B,T,H,D], or the number of a tensor [B,T,H], token after token. With Ahead the
// next token is on its way while one is computed.
template <class T, class V, bool Ahead = true>
struct TokenInput {
  const T* at;
  long long stride;
  Fetched<T, V> fetched{};

  // `any`: the sequence has a token.
  WKVC_INLINE TokenInput(const TensorArg& t, const BlockBase& block, bool any, int first = 0)
      : at(token_row<const T>(t, block, 0) + first + Fetched<T, V>::first()), stride(t.row) {
    if (Ahead && any) fetched.load(at);
  }

  // This token's; `more`: there is another one. The last token is fetched again, which costs less than a condition:
  // registers would be copied where a load may not happen.
  WKVC_INLINE V take(bool more) {
    if constexpr (!Ahead) fetched.load(at);
    const V x = widen(fetched);
    if (more) at += stride;
    if constexpr (Ahead) fetched.load(at);
    return x;
  }
};

// The number of this head of a tensor [H].
template <class T>
WKVC_INLINE float load_parameter_number(const TensorArg& t, const BlockBase& block) {
  return scalar::widen(static_cast<const T*>(t.data)[head_offset(t, block.head)]);
}

// Elements from `first` on, or the number, of each token of an output, rounded to T.
template <class T>
struct TokenOutput {
  T* at;
  long long stride;

  WKVC_INLINE TokenOutput(const TensorArg& t, const BlockBase& block, int first = 0)
      : at(token_row<T>(t, block, 0) + first), stride(t.row) {}

  // Writes the next token's. Of warps that have the same, one is the `holder`.
  template <class V>
  WKVC_INLINE void put(const V& x, bool holder = true) {
    if (holder) store(x);
    at += stride;
  }

 private:
  template <class Axis, int N>
  WKVC_INLINE void store(const Vector<Axis, N>& x) {
    if (!Axis::is_first_holder()) return;
    WKVC_EACH_SLOT(Axis, N, at[Axis::template position<N>(i, s)] = scalar::round<T>(x.v[i][s]));
  }
  WKVC_INLINE void store(float x) {
    if (lanes::is_first()) *at = scalar::round<T>(x);
  }
};

// The product of a warp's rows of a matrix and a vector over keys.
template <int K>
WKVC_INLINE ValueVec dot(const TokenState<K>& matrix, const KeyVec<K>& vector) {
  return sum_columns(matrix * vector);
}
// The scalar product of two vectors over keys.
template <int K>
WKVC_INLINE float dot(const KeyVec<K>& x, const KeyVec<K>& y) {
  float sum = 0.f;
  WKVC_EACH_SLOT(HalfWarps::Columns, K, sum += x.v[i][s] * y.v[i][s]);
  return half_warps::sum(sum);
}
// A warp's rows of column · rowᵀ.
template <int K>
WKVC_INLINE TokenState<K> outer(const ValueVec& column, const KeyVec<K>& row) {
  const auto rows = half_warps::everywhere(column);
  TokenState<K> x;
  WKVC_EACH_ELEMENT(
      16, K,
      x.block[i][j].unit[e] = HalfWarps::beside_column<K>(rows, i, j, e) * HalfWarps::beside_row<K>(row, i, j, e));
  return x;
}

}  // namespace wkvc
