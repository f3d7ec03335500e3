// Contractions of warp groups by wgmma, which reads B by a descriptor: it consists of matrices of 8 rows of 16 bytes
// that follow each other, as the rows of a piece do (common/tile/shared_tile.h). (PTX ISA, "Asynchronous Warpgroup
// Level Matrix Multiply-Accumulate", matrix descriptor, no swizzling.)
#pragma once

#include "wkvc/cuda/ptx.h"

namespace wkvc {

namespace group {

// Bytes from one matrix to the next: of the same columns, and of the next 8, in the next piece.
inline constexpr int kDown = 8 * 16;
template <class T, int LD>
inline constexpr int kAcross = kPieceStride<T, LD> * static_cast<int>(sizeof(T));

// `contracted`: bytes from one matrix to the next along what is contracted; `other`: along the other dimension.
WKVC_INLINE u64 descriptor(const void* at, int contracted, int other) {
  const u32 address = ptx::shared_address(at) & 0x3ffffu;
  return static_cast<u64>(address / 16) | static_cast<u64>(contracted / 16) << 16 | static_cast<u64>(other / 16) << 32;
}

template <int N>
WKVC_INLINE void keep(Tile<f32, 16, N>& acc) {
  WKVC_EACH_ELEMENT(16, N, ptx::stay_here(acc.block[i][j].unit[e]));
}

template <class T, int N, int K, int LD>
WKVC_INLINE void start(Tile<f32, 16, N>& acc, const Tile<T, 16, K>& a, const Shared<T, N, K, LD>& b) {
  const auto step = [&](int j, int k) WKVC_INLINE_LAMBDA {
    const u64 block = descriptor(b.at(16 * j, 16 * k), kAcross<T, LD>, kDown);
    ptx::wgmma_n16(&acc.block[0][j], a.block[0][k].unit, block, T{});
  };
  WKVC_EACH_BLOCK(N, K, step(i, j));
}
template <class T, int N, int K, int LD>
WKVC_INLINE void start(Tile<f32, 16, N>& acc, const Tile<T, 16, K>& a, const Transposed<Shared<T, K, N, LD>>& b) {
  constexpr int kColumns = N % 128 == 0 ? 128 : 64;  // at a time
  static_assert(N % kColumns == 0, "takes 64 columns at a time, or 128");
  const auto step = [&](int j, int k) WKVC_INLINE_LAMBDA {
    const u64 block = descriptor(b.view.at(16 * k, kColumns * j), kDown, kAcross<T, LD>);
    if constexpr (kColumns == 128) {
      ptx::wgmma_n128_trans(&acc.block[0][8 * j], a.block[0][k].unit, block, T{});
    } else {
      ptx::wgmma_n64_trans(&acc.block[0][4 * j], a.block[0][k].unit, block, T{});
    }
  };
  WKVC_EACH_BLOCK(16 * N / kColumns, K, step(i, j));
}

}  // namespace group

template <class... Terms>
WKVC_INLINE void group_mma(const Terms&... terms) {
  (group::keep(terms.acc), ...);
  ptx::wgmma_fence();
  (group::start(terms.acc, terms.a, terms.b), ...);
  ptx::wgmma_commit();
  ptx::wgmma_wait();
  (group::keep(terms.acc), ...);
}

}  // namespace wkvc
