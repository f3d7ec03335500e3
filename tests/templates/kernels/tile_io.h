// How the test kernels get a tensor of one tile into registers and back.
#pragma once

#include "wkvc/tile.h"

namespace wkvc::test {

// A whole tensor [R, C] through shared memory at `offset`.
template <class T, int R, int C>
WKVC_INLINE Shared<T, R, C> fetch_stored(const TensorArg& t, const Block& block, int offset = 0) {
  const auto shared = block.shared<T, R, C>(offset);
  const auto take = [&](Piece piece) {
    for (int n = 0; n < kPiece<T>; ++n)
      *shared.at(piece.row, piece.column + n) = global_row<const T>(t, block, piece.row)[piece.column + n];
  };
  if (block.warp == 0) for_each_piece<T, R, C>(take);
  block.barrier();
  return shared;
}

// Tensors of two terms are stored as f32.
template <class T, int R, int C>
WKVC_INLINE Shared<T, R, C> fetch(const TensorArg& t, const Block& block, int offset = 0) {
  if constexpr (TwoTerms<T>) {
    const auto x = load(fetch_stored<f32, R, C>(t, block, offset));
    const auto shared = block.shared<T, R, C>(offset);
    block.barrier();
    if (block.warp == 0) store(shared, round<T>(x));
    block.barrier();
    return shared;
  } else {
    return fetch_stored<T, R, C>(t, block, offset);
  }
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
