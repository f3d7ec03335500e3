// Blocks whose warps form teams. They go through rounds of chunks, one for each team: a team prepares its chunk by
// itself, in a slot of shared memory of its own; then all warps of the block take the state through the round.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/block.h"
#else
#include "wkvc/host/block.h"
#endif

namespace wkvc {

// To what speaks of warps, barriers and shared memory a team is a block: `Teams` of them, of `Bytes` each.
template <int Teams, int Bytes>
struct Team : BlockBase {
  int chunk;  // of each round, this team's

  WKVC_INLINE explicit Team(const Block& block) : BlockBase(block), block_(block) {
    warps = block.warps / Teams;
    chunk = block.warp / warps;
    warp = block.warp % warps;
    memory += chunk * Bytes;
  }
  WKVC_INLINE void barrier() const {
    if (warps == 1) {
      lanes::sync();
    } else {
      named_barrier<0>();
    }
  }

 private:
  template <int N>
  WKVC_INLINE void named_barrier() const {
    if constexpr (N < Teams) {
      if (chunk == N) {
        block_.barrier<N + 1>(warps);
      } else {
        named_barrier<N + 1>();
      }
    }
  }

  const Block& block_;
};

// The block with the slot of chunk `chunk` of the round as its shared memory.
template <int Bytes>
WKVC_INLINE Block slot_of(Block block, int chunk) {
  block.memory += chunk * Bytes;
  return block;
}

}  // namespace wkvc
