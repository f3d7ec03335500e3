// A thread block: barriers among its warps.
#pragma once

#include "wkvc/common/block/block_base.h"
#include "wkvc/cuda/ptx.h"

namespace wkvc {

struct Block : BlockBase {
  WKVC_INLINE void barrier() const { ptx::barrier(); }
  // Barrier `Id` (1 … 15) among `count` warps, all of which call this.
  template <int Id>
  WKVC_INLINE void barrier(int count) const {
    ptx::named_barrier<Id>(32 * count);
  }
  // The same, and whether any of these warps says so.
  template <int Id>
  WKVC_INLINE bool any(int count, bool flag) const {
    return ptx::named_barrier_any<Id>(32 * count, flag);
  }

  // Registers of each thread from here on, fewer or more than before. By all warps of a warp group; one that takes
  // registers waits until others have given theirs.
  template <int Count>
  WKVC_INLINE void give_registers() const {
    ptx::give_registers<Count>();
  }
  template <int Count>
  WKVC_INLINE void take_registers() const {
    ptx::take_registers<Count>();
  }

  // Of all warps of the blocks of a cluster; what one has initialized is there for all.
  WKVC_INLINE void cluster_barrier() const {
    ptx::fence_mbarrier_init();
    ptx::cluster_barrier();
  }
  // Lets blocks of the kernel behind take their places as soon as each block of this kernel has ended or called this
  // function.
  WKVC_INLINE void let_next_kernel_begin() const { ptx::let_next_kernel_begin(); }
  // To be called by each warp that has written what is sent, or what warp groups contract, before a barrier that those
  // wait at who do that.
  WKVC_INLINE void before_async_reads() const { ptx::fence_async_reads(); }
  // A flag that every block of a cluster has. Each block lowers its own before all warps of the cluster meet; after
  // that any warp may raise all of them; when all have met once more, each block asks for its own.
  WKVC_INLINE void lower_flag() const {
    if (warp == 0 && lanes::is_first()) *ptx::shared_word<kFlag>() = 0;
  }
  template <int Cluster>
  WKVC_INLINE void raise_flags() const {
    const u32 own = ptx::shared_address(const_cast<const int*>(ptx::shared_word<kFlag>()));
    if (ptx::lane() < Cluster) ptx::store_in_cluster(ptx::address_in_block(own, ptx::lane()), 1);
  }
  WKVC_INLINE bool has_flag() const { return *ptx::shared_word<kFlag>() != 0; }

  // Copies `Bytes` of this block's shared memory from `offset` on to the same place in that of block `to` of the
  // cluster, and arrives at the mbarrier at the same place there once they are. By one warp.
  template <int Bytes>
  WKVC_INLINE void send(int offset, int mbarrier, int to) const {
    static_assert(Bytes % 16 == 0, "is copied in pieces of 16 bytes");
    if (!lanes::is_first()) return;
    const u32 from = ptx::shared_address(memory + offset);
    const u32 arrival = ptx::address_in_block(ptx::shared_address(memory + mbarrier), to);
    ptx::mbarrier_arrive_expecting(arrival, Bytes);
    ptx::bulk_copy(ptx::address_in_block(from, to), from, Bytes, arrival);
  }

  // Rounds that begin with chunk `first` or a later one may be left out: none, when all warps have met after
  // begin_rounds().
  WKVC_INLINE void begin_rounds() const { stop_rounds(0x7fffffff); }
  WKVC_INLINE void stop_rounds(int first) const {
    if (warp == 0 && lanes::is_first()) *ptx::shared_word<kStop>() = first;
  }
  WKVC_INLINE bool has_stopped(int first) const { return first >= *ptx::shared_word<kStop>(); }

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
    // At the same place in block `to` of the cluster, for what this warp has read.
    WKVC_INLINE void arrive_in(int to) const {
      lanes::sync();
      if (lanes::is_first()) ptx::mbarrier_arrive_at(ptx::address_in_block(ptx::shared_address(word), to));
    }
    WKVC_INLINE void wait(int parity) const {
      while (!ptx::mbarrier_try_wait(word, parity)) {
      }
    }
  };
  WKVC_INLINE Mbarrier mbarrier(int offset) const { return {reinterpret_cast<u64*>(memory + offset)}; }

 private:
  enum Words { kStop, kFlag };
};

}  // namespace wkvc
