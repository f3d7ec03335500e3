// Sums of what several warps or slabs computed: each stores a vector as its slice of an array of floats in shared
// memory, and after a barrier a reader adds the slices, always in the same order.
#pragma once

#include "wkvc/common/tile/elementwise.h"
#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

// `parts` (at least one) vectors, `stride` floats from one to the next.
template <class Axis, int N>
WKVC_INLINE Vector<Axis, N> load_vector_sum(const float* from, int parts, int stride) {
  auto sum = load_vector<Axis, N>(from);
  WKVC_UNROLL
  for (int part = 1; part < parts; ++part) sum = sum + load_vector<Axis, N>(from + part * stride);
  return sum;
}
template <int C>
WKVC_INLINE RowVec<C> load_row_sum(const float* from, int parts, int stride) {
  return load_vector_sum<PerColumn, C>(from, parts, stride);
}
template <int R>
WKVC_INLINE ColVec<R> load_column_sum(const float* from, int parts, int stride) {
  return load_vector_sum<PerRow, R>(from, parts, stride);
}

}  // namespace wkvc
