// Registers to and from global memory.
#pragma once

#include "wkvc/common/block_base.h"

namespace wkvc {

// Calls f(block row, block column, element, row, column) for each run of kAdjacent elements of neighbouring columns.
template <int R, int C, class F>
WKVC_INLINE void for_each_run(F f) {
  WKVC_UNROLL
  for (int i = 0; i < R / 16; ++i) {
    WKVC_UNROLL
    for (int j = 0; j < C / 16; ++j) {
      WKVC_UNROLL
      for (int e = 0; e < layout::kElements; e += layout::kAdjacent) {
        f(i, j, e, 16 * i + PerRow::position(PerRow::slot(e)), 16 * j + PerColumn::position(PerColumn::slot(e)));
      }
    }
  }
}

// Writes rows row0 … row0+valid-1 of the tensor, columns from col0 on.
template <class T, int R, int C>
WKVC_INLINE void store_rows(const TensorArg& t, const BlockBase& block, long long row0, int valid, int col0,
                            const Tile<T, R, C>& x) {
  T* to = global_row<T>(t, block, row0) + col0;
  const auto store_run = [&](int i, int j, int e, int row, int column, bool aligned) {
    memory::store_adjacent(to + row * t.row + column, x.block[i][j].unit + e / Unit<T>::elements, aligned);
  };
  // One test for the usual case, whole and aligned rows.
  if (t.vector16 && valid >= R) {
    for_each_run<R, C>([&](int i, int j, int e, int row, int column) { store_run(i, j, e, row, column, true); });
  } else {
    for_each_run<R, C>([&](int i, int j, int e, int row, int column) {
      if (row < valid) store_run(i, j, e, row, column, t.vector16 != 0);
    });
  }
}

// Rounds to T and writes the first `valid` tokens from token0 on.
template <class T, int R, int C>
WKVC_INLINE void store_global(const TensorArg& t, const BlockBase& block, long long token0, int valid, int col0,
                              const Tile<f32, R, C>& x) {
  store_rows(t, block, token0, valid, col0, round<T>(x));
}

// The same for a tile that holds [columns of the tensor x tokens].
template <class T, int R, int C>
WKVC_INLINE void store_global_transposed(const TensorArg& t, const BlockBase& block, long long token0, int valid,
                                         int col0, const Tile<f32, R, C>& x) {
  store_rows(t, block, token0, valid, col0, transpose(round<T>(x)));
}

// Rows row0 … of this batch's and head's states, stored as T; absent states are zero.
template <class T = f32, int R, int K>
WKVC_INLINE void load_state(Tile<f32, R, K>& x, const TensorArg& t, const BlockBase& block, long long row0) {
  x = zeros<R, K>();
  if (t.data == nullptr) return;
  const T* from = global_row<const T>(t, block, row0);
  for_each_run<R, K>([&](int i, int j, int e, int row, int column) {
    memory::load_adjacent(from + row * t.row + column, x.block[i][j].unit + e, t.vector16 != 0);
  });
}

// Rounds to T; writes nothing where nobody asked for the state.
template <class T = f32, int R, int K>
WKVC_INLINE void store_state(const Tile<f32, R, K>& x, const TensorArg& t, const BlockBase& block, long long row0) {
  if (t.data == nullptr) return;
  store_rows(t, block, row0, R, 0, round<T>(x));
}

// One number a token, a tensor [B, T, H]: N tokens from token0 on, zero from `valid` on.
template <class T, class Axis, int N>
WKVC_INLINE Vector<Axis, N> load_token_vector(const TensorArg& t, const BlockBase& block, long long token0, int valid) {
  const T* from = global_row<const T>(t, block, token0);
  Vector<Axis, N> x;
  for_each_slot<Axis, N>([&](int i, int s) {
    const int token = 16 * i + Axis::position(s);
    x.v[i][s] = token < valid ? scalar::widen(from[token * t.row]) : 0.f;
  });
  return x;
}
// Beside a tile whose rows, or whose columns, are tokens.
template <class T, int R>
WKVC_INLINE ColVec<R> load_tokens_column(const TensorArg& t, const BlockBase& block, long long token0, int valid) {
  return load_token_vector<T, PerRow, R>(t, block, token0, valid);
}
template <class T, int C>
WKVC_INLINE RowVec<C> load_tokens_row(const TensorArg& t, const BlockBase& block, long long token0, int valid) {
  return load_token_vector<T, PerColumn, C>(t, block, token0, valid);
}

// Rounds to T and writes the first `valid` tokens from token0 on, each by one lane.
template <class T, class Axis, int N>
WKVC_INLINE void store_tokens(const TensorArg& t, const BlockBase& block, long long token0, int valid,
                              const Vector<Axis, N>& x) {
  if (!Axis::is_first_holder()) return;
  T* to = global_row<T>(t, block, token0);
  for_each_slot<Axis, N>([&](int i, int s) {
    const int token = 16 * i + Axis::position(s);
    if (token < valid) to[token * t.row] = scalar::round<T>(x.v[i][s]);
  });
}

// N columns from col0 on of this head's parameters, a tensor [H, D].
template <class T, class Axis, int N>
WKVC_INLINE Vector<Axis, N> load_parameter(const TensorArg& t, const BlockBase& block, int col0) {
  const T* from = static_cast<const T*>(t.data) + block.head * t.head + col0;
  Vector<Axis, N> x;
  for_each_slot<Axis, N>([&](int i, int s) { x.v[i][s] = scalar::widen(from[16 * i + Axis::position(s)]); });
  return x;
}
// Beside a tile whose columns, or whose rows, are those of the parameters.
template <class T, int C>
WKVC_INLINE RowVec<C> load_parameter_row(const TensorArg& t, const BlockBase& block, int col0) {
  return load_parameter<T, PerColumn, C>(t, block, col0);
}
template <class T, int R>
WKVC_INLINE ColVec<R> load_parameter_column(const TensorArg& t, const BlockBase& block, int col0) {
  return load_parameter<T, PerRow, R>(t, block, col0);
}

// Rounds to T and writes N columns from col0 on of this batch's and head's part of a parameter's gradient, a tensor
// [B, H, D].
template <class T, class Axis, int N>
WKVC_INLINE void store_parameter(const TensorArg& t, const BlockBase& block, int col0, const Vector<Axis, N>& x) {
  if (!Axis::is_first_holder()) return;
  T* to = global_row<T>(t, block, 0) + col0;
  for_each_slot<Axis, N>([&](int i, int s) { to[16 * i + Axis::position(s)] = scalar::round<T>(x.v[i][s]); });
}
template <class T, int C>
WKVC_INLINE void store_parameter_row(const TensorArg& t, const BlockBase& block, int col0, const RowVec<C>& x) {
  store_parameter<T>(t, block, col0, x);
}
template <class T, int R>
WKVC_INLINE void store_parameter_column(const TensorArg& t, const BlockBase& block, int col0, const ColVec<R>& x) {
  store_parameter<T>(t, block, col0, x);
}

// The sum over all batches of this head's row of a tensor [B,H,D], to a tensor [H,D]. For one warp.
template <class T, int N>
WKVC_INLINE void sum_batches(const TensorArg& to, const TensorArg& from, const BlockBase& block, long long batches) {
  RowVec<N> sum{};
  for (long long b = 0; b < batches; ++b) {
    const float* row = static_cast<const float*>(from.data) + b * from.batch + block.head * from.head;
    for_each_slot<PerColumn, N>([&](int j, int s) { sum.v[j][s] += row[16 * j + PerColumn::position(s)]; });
  }
  store_parameter_row<T>(to, block, 0, sum);
}

}  // namespace wkvc
