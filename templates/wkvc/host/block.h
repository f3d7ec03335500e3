// A thread block: barriers among its warps.
#pragma once

#include <atomic>
#include <cstring>
#include <vector>

#include "wkvc/common/block/block_base.h"
#include "wkvc/host/barrier.h"
#include "wkvc/host/shared_memory.h"
#include "wkvc/host/watchdog.h"

namespace wkvc {

namespace host {

inline constexpr int kNamedBarriers = 16;

// What the warps of a running block share besides memory. Barrier 0 is the one of the whole block.
struct BlockSync {
  char* memory = nullptr;
  Barrier barrier[kNamedBarriers];
  std::atomic<bool> said[kNamedBarriers][2]{};  // by turns: who is asked again may not have answered all yet
  std::atomic<int> stop{0};
  std::atomic<bool> flag{true};  // until the block lowers it
};

// What those of all blocks of the running cluster share.
struct ClusterSync {
  ClusterSync(Warps& warps_of_all, Report& report, const std::vector<SharedMemory>& memory)
      : warps(warps_of_all), watchdog(warps_of_all, report), block(memory.size()) {
    for (std::size_t rank = 0; rank < memory.size(); ++rank) block[rank].memory = memory[rank].data();
  }

  Warps& warps;
  Watchdog watchdog;
  Barrier barrier;
  std::vector<BlockSync> block;
};

}  // namespace host

struct Block : BlockBase {
  long long index;
  host::ClusterSync* cluster;
  mutable unsigned asked[host::kNamedBarriers];  // how often this warp has been asked at each barrier

  void barrier() const { wait_at(sync().barrier[0], warps, "waits at the block's barrier"); }
  // Barrier `Id` (1 … 15) among `count` warps, all of which call this.
  template <int Id>
  void barrier(int count) const {
    wait_at(sync().barrier[Id], count, "waits at a named barrier");
  }
  // The same, and whether any of these warps says so, or one has before at this barrier.
  template <int Id>
  bool any(int count, bool flag) const {
    std::atomic<bool>& said = sync().said[Id][asked[Id]++ % 2];
    if (flag) said.store(true, std::memory_order_relaxed);
    barrier<Id>(count);
    return said.load(std::memory_order_relaxed);
  }

  // Of all warps of the blocks of a cluster; what one has initialized is there for all.
  void cluster_barrier() const {
    wait_at(cluster->barrier, warps * static_cast<int>(cluster->block.size()), "waits at the cluster's barrier");
  }
  void let_next_kernel_begin() const {}
  // To be called by each warp that has written what is sent, or what warp groups contract, before a barrier that those
  // wait at who do that.
  void before_async_reads() const {}
  template <int Count>
  void give_registers() const {}
  template <int Count>
  void take_registers() const {}
  // A flag that every block of a cluster has. Each block lowers its own before all warps of the cluster meet; after
  // that any warp may raise all of them; when all have met once more, each block asks for its own.
  void lower_flag() const {
    if (warp == 0) sync().flag.store(false, std::memory_order_relaxed);
  }
  template <int Cluster>
  void raise_flags() const {
    for (std::size_t n = 0; n < Cluster; ++n) cluster->block[n].flag.store(true, std::memory_order_relaxed);
  }
  bool has_flag() const { return sync().flag.load(std::memory_order_relaxed); }

  // Copies `Bytes` of this block's shared memory from `offset` on to the same place in that of block `to` of the
  // cluster, and arrives at the mbarrier at the same place there once they are. By one warp.
  template <int Bytes>
  void send(int offset, int mbarrier, int to) const {
    std::memcpy(memory_of(to) + offset, memory + offset, Bytes);
    this->mbarrier(mbarrier).arrive_in(to);
  }

  // Rounds that begin with chunk `first` or a later one may be left out: none, when all warps have met after
  // begin_rounds().
  void begin_rounds() const { stop_rounds(0x7fffffff); }
  void stop_rounds(int first) const {
    if (warp == 0) sync().stop.store(first, std::memory_order_relaxed);
  }
  bool has_stopped(int first) const { return first >= sync().stop.load(std::memory_order_relaxed); }

  // Arrivals are counted per warp. Each completed phase flips the parity that wait() asks for, starting with 0.
  struct Mbarrier {
    u64* word;
    const Block* block;

    // Called by one warp; the others may use it after a block barrier.
    void init(int warp_arrivals) const { host::MbarrierWord(*word).init(warp_arrivals); }
    void arrive() const { host::MbarrierWord(*word).arrive(); }
    // At the same place in block `to` of the cluster, for what this warp has read.
    void arrive_in(int to) const {
      char* const there = block->memory_of(to) + (reinterpret_cast<char*>(word) - block->memory);
      Mbarrier{reinterpret_cast<u64*>(there), block}.arrive();
    }
    void wait(int parity) const {
      block->wait_until([&] { return host::MbarrierWord(*word).passed(parity); }, "waits for an mbarrier");
    }
  };
  Mbarrier mbarrier(int offset) const { return {reinterpret_cast<u64*>(memory + offset), this}; }

 private:
  char* memory_of(int other) const { return cluster->block[static_cast<std::size_t>(other)].memory; }
  host::BlockSync& sync() const { return cluster->block[static_cast<std::size_t>(rank)]; }

  template <class Done>
  void wait_until(Done done, const char* what) const {
    cluster->watchdog.wait(done, what, warp, index);
  }
  void wait_at(host::Barrier& barrier, int count, const char* what) const {
    barrier.arrive_and_wait(static_cast<unsigned>(count), [&](auto done) { wait_until(done, what); });
  }
};

}  // namespace wkvc
