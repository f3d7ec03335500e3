// Blocks whose warps form teams. They go through rounds of chunks, one for each team: a team prepares its chunk by
// itself, in a slot of shared memory of its own; then all warps of the block take the state through the round, in a
// backward kernel one state forward and its gradient back, after which each team finishes its chunk. Or teams are of
// warps of their own, and prepare a round while the others take the state through the one before: in slots for two
// rounds, by turns, with one barrier of the block for each.
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

// What to add to a slot's memory for the round that `before` chunks come before: slots of `Turn` bytes, by turns.
template <int Teams, int Turn>
WKVC_INLINE constexpr int turn_of(int before) {
  return before / Teams % 2 * Turn;
}

// To what speaks of warps, barriers and shared memory a team is a block: `Teams` of them, of `Bytes` each, of the warps
// from `First` on. With a `Turn` these bytes end with two slots of so many, and begin with what is for any round.
template <int Teams, int Bytes, int Turn = 0, int First = 0>
struct Team : BlockBase {
  int chunk;  // of each round, this team's; one that no round has for warps that are in no team

  WKVC_INLINE explicit Team(const Block& block) : BlockBase(block), block_(block) {
    const bool in_team = block.warp >= First;
    warps = (block.warps - First) / Teams;
    const int own = in_team ? block.warp - First : 0;
    chunk = in_team ? own / warps : kNone;
    warp = own % warps;
    memory += own / warps * Bytes;  // not in a branch, so that the compiler sees that it is shared memory
  }
  // With the slot of the round that `before` chunks come before.
  WKVC_INLINE Team in_round(int before) const {
    Team team = *this;
    team.memory += turn_of<Teams, Turn>(before);
    return team;
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
  static constexpr int kNone = 1 << 28;

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
WKVC_INLINE Block slot_of(Block block, int chunk, int turn = 0) {
  block.memory += chunk * Bytes + turn;
  return block;
}

}  // namespace wkvc
