// Rows of tokens from global to shared memory, in pieces of 16 bytes dealt to the threads of the block.
#pragma once

#include "wkvc/common/block_base.h"

namespace wkvc {

template <class T>
inline constexpr int kPiece = 16 / static_cast<int>(sizeof(T));

// Calls f(row, column) for the first element of every piece that this warp copies.
template <class T, int R, int C, class F>
WKVC_INLINE void for_each_own_piece(const BlockBase& block, F f) {
  constexpr int kAcross = C / kPiece<T>;
  lanes::for_each([&](int lane) {
    // block.warps is known where a kernel is compiled, so the loop unrolls and an even deal needs no test.
    const int step = 32 * block.warps, rounds = (R * kAcross + step - 1) / step;
    WKVC_UNROLL
    for (int round = 0; round < rounds; ++round) {
      const int p = step * round + 32 * block.warp + lane;
      if (R * kAcross % step == 0 || p < R * kAcross) f(p / kAcross, p % kAcross * kPiece<T>);
    }
  });
}

// Without alignment there is no asynchronous copy. Out of line: it is rare, and would fill the chunk loop.
template <class T, int R, int C>
WKVC_OUTLINE void copy_elementwise(T* to, int ld, const T* from, long long row_stride, int valid, int warp, int warps) {
  BlockBase block{};
  block.warp = warp;
  block.warps = warps;
  for_each_own_piece<T, R, C>(block, [&](int row, int column) {
    copy::piece_elementwise(to + row * ld + column, row < valid ? from + row * row_stride + column : nullptr);
  });
}

// Every warp of the block calls this, with the first row's address or its token. Rows from `valid` on become zero and
// their global memory is not touched.
template <class T, int R, int C, int LD>
WKVC_INLINE void copy_async(const Shared<T, R, C, LD>& to, const TensorArg& t, const BlockBase& block, const T* from,
                            int valid) {
  if (!t.vector16) {
    copy_elementwise<T, R, C>(to.data, LD, from, t.row, valid, block.warp, block.warps);
    return;
  }
  for_each_own_piece<T, R, C>(
      block, [&](int row, int column) { copy::piece(to.at(row, column), from + row * t.row + column, row < valid); });
}

template <class T, int R, int C, int LD>
WKVC_INLINE void copy_async(const Shared<T, R, C, LD>& to, const TensorArg& t, const BlockBase& block, long long token0,
                            int valid) {
  copy_async(to, t, block, global_row<const T>(t, block, token0), valid);
}

// Largest |x| among the elements that this warp copied: readable after wait_copies, without a barrier.
template <class T, int R, int C, int LD>
WKVC_INLINE float copied_max(const Shared<T, R, C, LD>& x, const BlockBase& block) {
  copy::Largest<T> largest;
  for_each_own_piece<T, R, C>(block, [&](int row, int column) { largest.add(x.at(row, column)); });
  return lanes::max_non_negative(largest.value());
}

}  // namespace wkvc
