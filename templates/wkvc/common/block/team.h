// Blocks whose warps form teams. They go through rounds of chunks, one for each team: a team prepares its chunk by
// itself, in a slot of shared memory of its own; then all warps of the block take the state through the round, in a
// backward kernel one state forward and its gradient back, after which each team finishes its chunk. Or teams are of
// warps of their own, and prepare rounds ahead of those that take the state through them: each chunk has slots for two
// rounds, by turns, with an mbarrier that says when it is prepared, and one that says when nobody reads it any more.
// Then the blocks of a cluster may have a part each of the state's rows and of a round's teams, which send what they
// prepare to the other blocks.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/block.h"
#else
#include "wkvc/host/block.h"
#endif

namespace wkvc {

// Where the slots of a round's chunks lie in a block's shared memory: from byte `Begin` on, behind the `OfTeam` bytes
// that each of the block's teams has for all rounds, `Turns` of them side by side for each chunk; offsets in a slot
// begin with `Offset`. Slots that are handed over are followed by their mbarriers. A round has a chunk for each of the
// `Teams` of each of the blocks of a `Cluster`.
template <int Teams, int Bytes, int OfTeam = 0, int Turns = 1, int Cluster = 1, int Begin = Teams * OfTeam,
          int Offset = OfTeam>
struct RoundSlots {
  static constexpr int kTeams = Teams;
  static constexpr int kBytes = Bytes;
  static constexpr int kOfTeam = OfTeam;
  static constexpr int kOffset = Offset;
  static constexpr int kTurns = Turns;
  static constexpr int kCluster = Cluster;
  static constexpr int kChunks = Teams * Cluster;

  // Offsets of a slot, of those of all chunks and turns, and of its mbarriers: it is prepared, by one arrival; it is
  // free, by one of each of the warps that read it, in all blocks.
  static WKVC_INLINE constexpr int begin(int number) { return Begin + number * Bytes; }
  static WKVC_INLINE constexpr int prepared(int number) { return begin(kChunks * Turns) + 16 * number; }
  static WKVC_INLINE constexpr int free(int number) { return prepared(number) + 8; }
};

// The slot of a round's chunk, in the round that `before` chunks come before.
template <class Slots>
struct SlotPlace {
  int number, parity;

  WKVC_INLINE SlotPlace(int chunk, int before)
      : number(chunk * Slots::kTurns + before / Slots::kChunks % Slots::kTurns),
        parity(before / Slots::kChunks / Slots::kTurns % 2) {}

  // The memory in which an offset is that of a slot.
  WKVC_INLINE char* in(char* memory) const { return memory + (begin() - Slots::kOffset); }
  WKVC_INLINE int begin() const { return Slots::begin(number); }
  WKVC_INLINE int prepared() const { return Slots::prepared(number); }
  WKVC_INLINE int free() const { return Slots::free(number); }
};

// To be called by all warps of the block before any uses slots that take turns, which so many of its warps read.
template <class Slots>
WKVC_INLINE void begin_slots(const Block& block, int readers) {
  if (block.warp == 0) {
    for (int number = 0; number < Slots::kChunks * Slots::kTurns; ++number) {
      block.mbarrier(Slots::prepared(number)).init(1);
      block.mbarrier(Slots::free(number)).init(readers * Slots::kCluster);
    }
  }
  if constexpr (Slots::kCluster > 1) {
    block.cluster_barrier();
  } else {
    block.barrier();
  }
}

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
    warp = own % warps ^ turn();
    // Not in a branch, so that the compiler sees that it is shared memory.
    memory += First > 0 ? team_ * Slots::kOfTeam : Slots::begin(team_) - Slots::kOffset;
  }
  // With the slot of the round that `before` chunks come before.
  WKVC_INLINE Team in_round(int before) const {
    Team team = *this;
    team.place_ = SlotPlace<Slots>(chunk, before);
    team.memory = team.place_.in(block_.memory);
    return team;
  }
  // The chunk from `begin` to before `end` that this team prepares first, going backward; before `begin` if there is
  // none. Where the state goes again through the first rounds of each `Group` of chunks, one of those.
  template <int Group = Slots::kChunks>
  WKVC_INLINE int last_chunk(int begin, int end) const {
    const int first = last_round<Slots>(begin, end);
    const int c = first - (first - begin) % Group + chunk;
    return c < end ? c : c - Group;
  }
  WKVC_INLINE void barrier() const {
    if (warps == 1) {
      lanes::sync();
    } else {
      named_barrier<0>();
    }
  }
  // Waits until nobody reads the slot at hand any more.
  WKVC_INLINE void claim() const { block_.mbarrier(place_.free()).wait(place_.parity ^ 1); }
  // The slot at hand is prepared, for this block and for others of the cluster.
  WKVC_INLINE void publish() const {
    if (Slots::kCluster > 1) block_.before_async_reads();
    barrier();
    if (warp != 0) return;
    block_.mbarrier(place_.prepared()).arrive();
    for (int n = 1; n < Slots::kCluster; ++n) {
      block_.template send<Slots::kBytes>(place_.begin(), place_.prepared(), (rank + n) % Slots::kCluster);
    }
  }

 private:
  static constexpr int kNone = 1 << 28;

  // What a warp's number is combined with, so that the first warps of neighbouring teams, which make the matrices, have
  // other schedulers. A multiprocessor deals warps to its four schedulers by their numbers.
  WKVC_INLINE int turn() const { return warps % 4 == 0 && team_ % 2 != 0 ? 2 : 0; }

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
  SlotPlace<Slots> place_{0, 0};
};

// The block with the slot of chunk `chunk` of the round that `before` chunks come before as its shared memory.
template <class Slots>
struct Slot : BlockBase {
  WKVC_INLINE Slot(const Block& block, int chunk, int before = 0)
      : BlockBase(block), block_(block), place_(chunk, before), owner_(chunk / Slots::kTeams) {
    memory = place_.in(block.memory);
  }
  // Waits until it is prepared.
  WKVC_INLINE void await() const { block_.mbarrier(place_.prepared()).wait(place_.parity); }
  // This warp has read it.
  WKVC_INLINE void release() const {
    const auto free = block_.mbarrier(place_.free());
    if constexpr (Slots::kCluster > 1) {
      free.arrive_in(owner_);
    } else {
      free.arrive();
    }
  }

 private:
  const Block& block_;
  SlotPlace<Slots> place_;
  int owner_;  // the block whose team prepares it
};

}  // namespace wkvc
