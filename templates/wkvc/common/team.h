// Blocks whose warps form teams. They go through rounds of chunks, one for each team: a team prepares its chunk by
// itself, in a slot of shared memory of its own; then all warps of the block take the state through the round, in a
// backward kernel one state forward and its gradient back, after which each team finishes its chunk. Or teams are of
// warps of their own, and prepare a round while the others take the state through the one before: in slots for two
// rounds, by turns, with one barrier of the block for each. Then the blocks of a cluster may have a part each of the
// state's rows and of a round's teams, which send what they prepare to the other blocks.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/block.h"
#else
#include "wkvc/host/block.h"
#endif

namespace wkvc {

// Where the slots of a round's chunks lie in a block's shared memory: behind the `OfTeam` bytes that each of the block's
// teams has for all rounds, `Turns` of them side by side for each chunk; offsets in a slot begin with `OfTeam`. A round
// has a chunk for each of the `Teams` of each of the blocks of a `Cluster`.
template <int Teams, int Slot, int OfTeam = 0, int Turns = 1, int Cluster = 1>
struct RoundSlots {
  static constexpr int kTeams = Teams;
  static constexpr int kBytes = Slot;
  static constexpr int kOfTeam = OfTeam;
  static constexpr int kCluster = Cluster;
  static constexpr int kChunks = Teams * Cluster;
  static constexpr bool kByTurns = Turns > 1;

  // Of the round that `before` chunks come before.
  static WKVC_INLINE constexpr int at(int chunk, int before) {
    return (Teams - 1) * OfTeam + (chunk * Turns + before / kChunks % Turns) * Slot;
  }
};

// The first chunk of the last round of those from `begin` to before `end`; before `begin` if there are none.
template <class Slots>
WKVC_INLINE constexpr int last_round(int begin, int end) {
  return begin + (end - begin + Slots::kChunks - 1) / Slots::kChunks * Slots::kChunks - Slots::kChunks;
}

// To what speaks of warps, barriers and shared memory a team is a block, with its slot; where rounds take turns, with
// what it has for all of them. Of the warps from `First` on.
template <class Slots, int First = 0>
struct Team : BlockBase {
  int chunk;  // of each round, this team's; one that no round has for warps that are in no team

  WKVC_INLINE explicit Team(const Block& block) : BlockBase(block), block_(block) {
    const bool in_team = block.warp >= First;
    warps = (block.warps - First) / Slots::kTeams;
    const int own = in_team ? block.warp - First : 0;
    team_ = own / warps;
    chunk = in_team ? Slots::kTeams * block.rank + team_ : kNone;
    warp = own % warps;
    // Not in a branch, so that the compiler sees that it is shared memory.
    memory += Slots::kByTurns ? team_ * Slots::kOfTeam : Slots::at(team_, 0);
  }
  // With the slot of the round that `before` chunks come before.
  WKVC_INLINE Team in_round(int before) const {
    Team team = *this;
    team.memory = block_.memory + Slots::at(chunk, before);
    return team;
  }
  // The last chunk from `begin` to before `end` that this team prepares; before `begin` if there is none.
  WKVC_INLINE int last_chunk(int begin, int end) const {
    const int c = last_round<Slots>(begin, end) + chunk;
    return c < end ? c : c - Slots::kChunks;
  }
  WKVC_INLINE void barrier() const {
    if (warps == 1) {
      lanes::sync();
    } else {
      named_barrier<0>();
    }
  }
  // Sends the slot at hand to the other blocks of the cluster.
  WKVC_INLINE void share() const {
    barrier();  // what its other warps have written comes before
    for (int n = 1; n < Slots::kCluster; ++n)
      block_.template send<Slots::kBytes>(memory + Slots::kOfTeam, (rank + n) % Slots::kCluster, warp, warps);
  }

 private:
  static constexpr int kNone = 1 << 28;

  template <int N>
  WKVC_INLINE void named_barrier() const {
    if constexpr (N < Slots::kTeams) {
      if (team_ == N) {
        block_.barrier<N + 1>(warps);
      } else {
        named_barrier<N + 1>();
      }
    }
  }

  const Block& block_;
  int team_;  // of the block's
};

// The block with the slot of chunk `chunk` of the round that `before` chunks come before as its shared memory.
template <class Slots>
WKVC_INLINE Block slot_of(Block block, int chunk, int before = 0) {
  block.memory += Slots::at(chunk, before);
  return block;
}

}  // namespace wkvc
