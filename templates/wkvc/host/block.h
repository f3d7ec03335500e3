// A thread block: barriers among its warps, each of which is a thread.
#pragma once

#include <cstring>
#include <vector>

#include "wkvc/common/block_base.h"
#include "wkvc/host/barrier.h"
#include "wkvc/host/watchdog.h"

namespace wkvc {

namespace host {

inline constexpr int kNamedBarriers = 16;

// What the warps of a running block share besides memory. Barrier 0 is the one of the whole block.
struct BlockSync {
  char* memory = nullptr;
  Barrier barrier[kNamedBarriers];
};

// What those of all blocks of the running cluster share.
struct ClusterSync {
  ClusterSync(Launch& launch, int blocks) : watchdog(launch), block(static_cast<std::size_t>(blocks)) {}

  Watchdog watchdog;
  Barrier barrier;
  std::vector<BlockSync> block;
};

}  // namespace host

struct Block : BlockBase {
  long long index;
  host::ClusterSync* cluster;

  void barrier() const { wait_at(sync().barrier[0], warps, "waits at the block's barrier"); }
  // Barrier `Id` (1 … 15) among `count` warps, all of which call this.
  template <int Id>
  void barrier(int count) const {
    wait_at(sync().barrier[Id], count, "waits at a named barrier");
  }

  // Of all warps of the blocks of a cluster.
  void cluster_barrier() const {
    wait_at(cluster->barrier, warps * static_cast<int>(cluster->block.size()), "waits at the cluster's barrier");
  }
  // Copies `Bytes` of this block's shared memory to the same place in that of block `to` of the cluster: the part of
  // warp `own` of `count`. A barrier of the cluster belongs between this and reading there, and one before the first.
  template <int Bytes>
  void send(const char* from, int to, int own, int count) const {
    static_assert(Bytes % 16 == 0, "is copied in pieces of 16 bytes");
    char* const there = cluster->block[static_cast<std::size_t>(to)].memory + (from - sync().memory);
    for (int piece = 16 * own; piece < Bytes; piece += 16 * count) std::memcpy(there + piece, from + piece, 16);
  }

  // Arrivals are counted per warp. Each completed phase flips the parity that wait() asks for, starting with 0.
  struct Mbarrier {
    u64* word;
    const Block* block;

    // Called by one warp; the others may use it after a block barrier.
    void init(int warp_arrivals) const { host::MbarrierWord(*word).init(warp_arrivals); }
    void arrive() const {
      host::MbarrierWord(*word).arrive();
      block->cluster->watchdog.note_progress();
    }
    void wait(int parity) const {
      block->wait_until([&] { return host::MbarrierWord(*word).passed(parity); }, "waits for an mbarrier");
    }
  };
  Mbarrier mbarrier(int offset) const { return {reinterpret_cast<u64*>(memory + offset), this}; }

 private:
  host::BlockSync& sync() const { return cluster->block[static_cast<std::size_t>(rank)]; }

  template <class Done>
  void wait_until(Done done, const char* what) const {
    cluster->watchdog.wait(done, what, warp, index);
  }
  void wait_at(host::Barrier& barrier, int count, const char* what) const {
    barrier.arrive_and_wait(static_cast<unsigned>(count), [&](auto done) { wait_until(done, what); });
    cluster->watchdog.note_progress();
  }
};

// A thread has the registers it has.
template <int Registers>
void increase_registers() {}
template <int Registers>
void decrease_registers() {}

}  // namespace wkvc
