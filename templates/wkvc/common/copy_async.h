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
    for (int p = 32 * block.warp + lane; p < R * kAcross; p += 32 * block.warps) {
      f(p / kAcross, p % kAcross * kPiece<T>);
    }
  });
}

// Every warp of the block calls this. Rows from `valid` on become zero and their global memory is not touched.
template <class T, int R, int C, int LD>
WKVC_INLINE void copy_async(const Shared<T, R, C, LD>& to, const TensorArg& t, const BlockBase& block, long long token0,
                            int valid) {
  const T* from = global_row<const T>(t, block, token0);
  for_each_own_piece<T, R, C>(block, [&](int row, int column) {
    const T* source = row < valid ? from + row * t.row + column : nullptr;
    if (t.vector16) {
      copy::piece(to.at(row, column), source);
    } else {
      copy::piece_elementwise(to.at(row, column), source);
    }
  });
}

// Largest |x| among the elements that this warp copied: readable after wait_copies, without a barrier.
template <class T, int R, int C, int LD>
WKVC_INLINE float copied_max(const Shared<T, R, C, LD>& x, const BlockBase& block) {
  float largest = 0.f;
  for_each_own_piece<T, R, C>(block, [&](int row, int column) {
    float piece[kPiece<T>];
    copy::load_piece(x.at(row, column), piece);
    WKVC_UNROLL
    for (int i = 0; i < kPiece<T>; ++i) largest = scalar::max(largest, scalar::abs(piece[i]));
  });
  return lanes::max_non_negative(largest);
}

}  // namespace wkvc
