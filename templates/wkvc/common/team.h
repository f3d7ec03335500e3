// Blocks whose warps form teams. They go through rounds of chunks, one for each team: a team prepares its chunk by
// itself, in a slot of shared memory of its own; then all warps of the block take the state through the round, in a
// backward kernel one state forward and its gradient back, after which each team finishes its chunk.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/block.h"
#else
#include "wkvc/host/block.h"
#endif

namespace wkvc {

// The first chunk of the last round of those from `begin` to before `end`; before `begin` if there are none.
template <int Teams>
WKVC_INLINE constexpr int last_round(int begin, int end) {
  return begin + (end - begin + Teams - 1) / Teams * Teams - Teams;
}

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
  // The last chunk from `begin` to before `end` that this team prepares; before `begin` if there is none.
  WKVC_INLINE int last_chunk(int begin, int end) const {
    const int c = last_round<Teams>(begin, end) + chunk;
    return c < end ? c : c - Teams;
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
