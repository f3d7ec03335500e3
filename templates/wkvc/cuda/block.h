// A thread block: barriers among its warps.
#pragma once

#include "wkvc/common/block_base.h"
#include "wkvc/cuda/ptx.h"

namespace wkvc {

struct Block : BlockBase {
  WKVC_INLINE void barrier() const { ptx::barrier(); }
  // Barrier `Id` (1 … 15) among `count` warps, all of which call this.
  template <int Id>
  WKVC_INLINE void barrier(int count) const {
    ptx::named_barrier<Id>(32 * count);
  }

  // Of all warps of the blocks of a cluster.
  WKVC_INLINE void cluster_barrier() const { ptx::cluster_barrier(); }
  // Copies `Bytes` of this block's shared memory to the same place in that of block `to` of the cluster: the part of
  // warp `own` of `count`. A barrier of the cluster belongs between this and reading there, and one before the first.
  template <int Bytes>
  WKVC_INLINE void send(const char* from, int to, int own, int count) const {
    static_assert(Bytes % 16 == 0, "is copied in pieces of 16 bytes");
    constexpr int kAtOnce = 4;
    const u32 there = ptx::address_in_block(ptx::shared_address(from), to);
    const int step = 512 * count;
    for (int first = 512 * own + 16 * ptx::lane(); first < Bytes; first += kAtOnce * step) {
      uint4 piece[kAtOnce];
      WKVC_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * step < Bytes) piece[i] = *reinterpret_cast<const uint4*>(from + first + i * step);
      }
      WKVC_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * step < Bytes) ptx::store_16_to_block(there + first + i * step, piece[i]);
      }
    }
  }

  // Arrivals are counted per warp. Each completed phase flips the parity that wait() asks for, starting with 0.
  struct Mbarrier {
    u64* word;

    // Called by one warp; the others may use it after a block barrier.
    WKVC_INLINE void init(int warp_arrivals) const {
      if (lanes::is_first()) ptx::mbarrier_init(word, warp_arrivals);
      lanes::sync();
    }
    WKVC_INLINE void arrive() const {
      lanes::sync();  // what the other lanes did comes before
      if (lanes::is_first()) ptx::mbarrier_arrive(word);
    }
    WKVC_INLINE void wait(int parity) const {
      while (!ptx::mbarrier_try_wait(word, parity)) {
      }
    }
  };
  WKVC_INLINE Mbarrier mbarrier(int offset) const { return {reinterpret_cast<u64*>(memory + offset)}; }
};

// Moves registers between warp groups of four: all four warps call the same.
template <int Registers>
WKVC_INLINE void increase_registers() {
  ptx::setmaxnreg_inc<Registers>();
}
template <int Registers>
WKVC_INLINE void decrease_registers() {
  ptx::setmaxnreg_dec<Registers>();
}

}  // namespace wkvc
