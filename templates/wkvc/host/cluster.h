// Runs the blocks of one cluster after the other, all warps of a cluster side by side.
#pragma once

#include <exception>
#include <new>
#include <vector>

#include "wkvc/host/block.h"
#include "wkvc/host/shared_memory.h"

namespace wkvc::host {

struct GridShape {
  long long batches, heads, segments;
  int warps;    // of a block
  int cluster;  // blocks that share a head, or a segment of it
};

class Cluster {
 public:
  // Throws std::exception where the machine has too little memory.
  Cluster(const GridShape& shape, const Launch& launch)
      : shape_(shape), warps_(shape.cluster * shape.warps, launch.stall_seconds) {
    memory_.reserve(static_cast<std::size_t>(shape.cluster));
    for (int rank = 0; rank < shape.cluster; ++rank) memory_.emplace_back(launch.shared_bytes);
  }

  // Calls body(block) for each warp of cluster `index` of the grid.
  template <class Body>
  void run(long long index, const Body& body, Report& report) {
    try {
      ClusterSync sync(warps_, report, memory_);
      for (const SharedMemory& memory : memory_) memory.poison();
      warps_.run([&](int n) { run_warp(block_at(index, n, sync), body); });
    } catch (const std::exception& error) {
      report.add(kStarved, error.what(), 0, index * shape_.cluster);
    }
  }

 private:
  template <class Body>
  static void run_warp(const Block& block, const Body& body) {
    Watchdog& watchdog = block.cluster->watchdog;
    try {
      body(block);
    } catch (const Stalled&) {  // reported where it was noticed
    } catch (const std::bad_alloc& error) {
      watchdog.fail(kStarved, error.what(), block.warp, block.index);
    } catch (const std::exception& error) {
      watchdog.fail(kFailed, error.what(), block.warp, block.index);
    }
  }

  // What warp n of a cluster sees.
  Block block_at(long long index, int n, ClusterSync& sync) const {
    Block block{};
    block.warp = n % shape_.warps;
    block.warps = shape_.warps;
    block.batch = index / shape_.segments / shape_.heads;
    block.head = index / shape_.segments % shape_.heads;
    block.segment = static_cast<int>(index % shape_.segments);
    block.segments = static_cast<int>(shape_.segments);
    block.rank = n / shape_.warps;
    block.memory = memory_[static_cast<std::size_t>(block.rank)].data();
    block.index = index * shape_.cluster + block.rank;
    block.cluster = &sync;
    return block;
  }

  GridShape shape_;
  Warps warps_;
  std::vector<SharedMemory> memory_;  // of each block
};

}  // namespace wkvc::host
