// Tiles of single tokens: 16 rows, of which each half of a warp has 8. A lane has C/16 columns of each row of its half,
// in runs of neighbours. So a lane meets few columns, whose vectors take few registers, and one access loads a run.
// Element e of block j is row e of the half and column j of the lane's.
#pragma once

#include "wkvc/common/global/global.h"

namespace wkvc {

namespace half_warps {

inline constexpr int kLanes = 16, kRows = 8;

WKVC_INLINE int half() { return ptx::lane() / kLanes; }
WKVC_INLINE int own() { return ptx::lane() % kLanes; }

template <int C>
inline constexpr int kRun = C % 64 == 0   ? 4
                            : C % 32 == 0 ? 2
                                          : 1;

struct Columns {
  template <int C>
  static constexpr int kBlocks = C / 16;
  static constexpr int kSlots = 1;
  template <int C>
  static WKVC_INLINE int position(int i, int /*slot*/) {
    constexpr int kOwn = kRun<C>;
    return kLanes * kOwn * (i / kOwn) + kOwn * own() + i % kOwn;
  }
  static WKVC_INLINE bool is_first_holder() { return half() == 0; }
};
// All rows of the lane's half.
struct Rows {
  template <int R>
  static constexpr int kBlocks = R / 16;
  static constexpr int kSlots = kRows;
  static WKVC_INLINE constexpr int slot(int element) { return element; }
};
// One row, which the next lane has, too.
struct OneRow {
  template <int R>
  static constexpr int kBlocks = R / 16;
  static constexpr int kSlots = 1;
  template <int R>
  static WKVC_INLINE int position(int i, int /*slot*/) {
    return 16 * i + ptx::lane() / 2;
  }
  static WKVC_INLINE bool is_first_holder() { return ptx::lane() % 2 == 0; }
};

// Neighbours among the values that a lane has of a vector, in memory aligned to as many.
template <class Axis, int N>
inline constexpr int kNeighbours = 1;
template <int N>
inline constexpr int kNeighbours<Columns, N> = kRun<N>;

}  // namespace half_warps

struct HalfWarps {
  using Columns = half_warps::Columns;
  template <int C>
  using Rows = half_warps::Rows;

  template <int C, class Vector>
  static WKVC_INLINE float beside_row(const Vector& row, int /*i*/, int j, int /*e*/) {
    return row.v[j][0];
  }
  template <int C, class Vector>
  static WKVC_INLINE float beside_column(const Vector& column, int i, int /*j*/, int e) {
    return column.v[i][e];
  }
};

// One value for each row of a token's tile.
using ValueVec = Vector<half_warps::OneRow, 16>;

//===- Across lanes ----------------------------------------------------------------------------------------------===//

namespace half_warps {

// The sum over the lanes of a half, which have the same rows.
WKVC_INLINE float sum(float x) {
  WKVC_UNROLL
  for (int mask = 1; mask < kLanes; mask *= 2) x += ptx::shuffle_xor(x, mask);
  return x;
}

// Each lane keeps half of 2·Count rows, and adds what the lane beside it has of the kept rows.
template <int Count>
WKVC_INLINE void halve(float* x) {
  const bool upper = (ptx::lane() & (2 * Count)) != 0;
  const auto meet = [&](int n) WKVC_INLINE_LAMBDA {
    const float given = upper ? x[n] : x[Count + n];
    x[n] = (upper ? x[Count + n] : x[n]) + ptx::shuffle_xor(given, 2 * Count);
  };
  WKVC_FOR(n, Count, meet(n));
}

// A row's value for each lane of its half.
WKVC_INLINE Vector<Rows, 16> everywhere(const ValueVec& x) {
  Vector<Rows, 16> y;
  WKVC_FOR(n, kRows, y.v[0][n] = ptx::shuffle_in_half(x.v[0][0], 2 * n));
  return y;
}

}  // namespace half_warps

template <int C>
WKVC_INLINE ValueVec sum_columns(const Tile<f32, 16, C, HalfWarps>& x) {
  float sums[half_warps::kRows] = {};
  WKVC_EACH_ELEMENT(16, C, sums[e] += x.block[i][j].unit[e]);
  half_warps::halve<4>(sums);
  half_warps::halve<2>(sums);
  half_warps::halve<1>(sums);
  ValueVec y;
  y.v[0][0] = sums[0] + ptx::shuffle_xor(sums[0], 1);
  return y;
}

//===- To and from states in memory ------------------------------------------------------------------------------===//

namespace half_warps {

// A lane's part of a state stored as T: run n of row, or of column, i. Where it begins behind the tile's first element,
// and which element of the tile is the s-th of it.
template <StateLayout Order, class T, int C>
struct Runs {
  static constexpr int kLength = kRun<C>, kOuter = kRows, kInner = C / 16 / kLength;

  static WKVC_INLINE int begin(int stride, int i, int n) {
    return (kRows * half() + i) * stride + Columns::position<C>(n * kLength, 0);
  }
  template <class X>
  static WKVC_INLINE auto& element(X& x, int i, int n, int s) {
    return x.block[0][n * kLength + s].unit[i];
  }
};
template <class T, int C>
struct Runs<StateLayout::kv, T, C> {
  static constexpr int kLength = sizeof(T) == 2 ? kRows : kRows / 2, kOuter = C / 16, kInner = kRows / kLength;

  static WKVC_INLINE int begin(int stride, int i, int n) {
    return Columns::position<C>(i, 0) * stride + kRows * half() + n * kLength;
  }
  template <class X>
  static WKVC_INLINE auto& element(X& x, int i, int n, int s) {
    return x.block[0][i].unit[n * kLength + s];
  }
};

template <int N, class T>
WKVC_INLINE void load_run(const T* from, float* x, bool aligned) {
  constexpr int kElements = Unit<T>::elements;
  if constexpr (N >= kElements) {
    if (aligned) {
      typename Unit<T>::type units[N / kElements];
      memory::load_neighbours<N>(from, units);
      WKVC_FOR(n, N / kElements, unpack(units[n], x + n * kElements, T{}));
      return;
    }
  }
  WKVC_FOR(n, N, x[n] = scalar::widen(from[n]));
}
template <int N, class T>
WKVC_INLINE void store_run(T* to, const float* x, bool aligned) {
  constexpr int kElements = Unit<T>::elements;
  if constexpr (N >= kElements) {
    if (aligned) {
      typename Unit<T>::type units[N / kElements];
      WKVC_FOR(n, N / kElements, units[n] = pack(x + n * kElements, T{}));
      memory::store_neighbours<N>(to, units);
      return;
    }
  }
  WKVC_FOR(n, N, to[n] = scalar::round<T>(x[n]));
}

template <class Runs, class T, int C>
WKVC_INLINE void load(Tile<f32, 16, C, HalfWarps>& x, const T* from, int stride, bool aligned) {
  constexpr int kLength = Runs::kLength;
  const auto load_one = [&](int i, int n) WKVC_INLINE_LAMBDA {
    float values[kLength];
    load_run<kLength>(from + Runs::begin(stride, i, n), values, aligned);
    WKVC_FOR(s, kLength, Runs::element(x, i, n, s) = values[s]);
  };
  WKVC_FOR_PLACES(i, Runs::kOuter, n, Runs::kInner, once, 1, load_one(i, n));
}
template <class Runs, class T, int C>
WKVC_INLINE void store(T* to, const Tile<f32, 16, C, HalfWarps>& x, int stride, bool aligned) {
  constexpr int kLength = Runs::kLength;
  const auto store_one = [&](int i, int n) WKVC_INLINE_LAMBDA {
    float values[kLength];
    WKVC_FOR(s, kLength, values[s] = Runs::element(x, i, n, s));
    store_run<kLength>(to + Runs::begin(stride, i, n), values, aligned);
  };
  WKVC_FOR_PLACES(i, Runs::kOuter, n, Runs::kInner, once, 1, store_one(i, n));
}

}  // namespace half_warps

template <StateLayout Order, class T, int C>
WKVC_INLINE void load_stored(Tile<f32, 16, C, HalfWarps>& x, const TensorArg& t, const T* from) {
  using Runs = half_warps::Runs<Order, T, C>;
  if (is_aligned(t)) {
    half_warps::load<Runs>(x, from, row_stride(t), true);
  } else {
    half_warps::load<Runs>(x, from, row_stride(t), false);
  }
}
template <StateLayout Order, class T, int C>
WKVC_INLINE void store_stored(const TensorArg& t, T* to, const Tile<f32, 16, C, HalfWarps>& x) {
  using Runs = half_warps::Runs<Order, T, C>;
  if (is_aligned(t)) {
    half_warps::store<Runs>(to, x, row_stride(t), true);
  } else {
    half_warps::store<Runs>(to, x, row_stride(t), false);
  }
}

}  // namespace wkvc
