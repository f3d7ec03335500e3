// How the test kernels get a tensor of one tile into registers and back.
#pragma once

#include "wkvc/tile.h"

namespace wkvc::test {

// A whole tensor [R, C] through shared memory at `offset`.
template <class T, int R, int C>
WKVC_INLINE Shared<T, R, C> fetch(const TensorArg& t, const Block& block, int offset = 0) {
  const auto shared = block.shared<T, R, C>(offset);
  if (block.warp == 0) copy_async(shared, Source<T, R, C>(t, block, 0), R, PiecePlaces(shared, R), t.vector16 != 0);
  commit_copies();
  wait_copies<0>();
  block.barrier();
  return shared;
}

template <class T, int R, int C>
WKVC_INLINE Tile<T, R, C> read(const TensorArg& t, const Block& block, int offset = 0) {
  return load(fetch<T, R, C>(t, block, offset));
}

// Results are stacked: the n-th one starts at row n * R of the output tensor.
template <int R, int C>
WKVC_INLINE void write(const TensorArg& t, const Block& block, int n, const Tile<f32, R, C>& x) {
  store_rows(global_row<f32>(t, block, n * R), row_stride(t), x, false);
}

}  // namespace wkvc::test
