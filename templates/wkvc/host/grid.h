// Runs all blocks of a grid, one cluster of them after the other, with a thread for each warp.
#pragma once

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "wkvc/host/block.h"
#include "wkvc/host/copy.h"

namespace wkvc::host {

// Shared memory of one block, aligned like the GPU's.
class SharedMemory {
 public:
  explicit SharedMemory(long long bytes)
      : bytes_(static_cast<std::size_t>(bytes)), data_(static_cast<char*>(::operator new(bytes_, kAlignment))) {}

  char* data() const { return data_.get(); }
  void poison() const { std::memset(data(), 0xff, bytes_); }  // NaN in every dtype

 private:
  static constexpr std::align_val_t kAlignment{128};
  struct Free {
    void operator()(char* p) const { ::operator delete(p, kAlignment); }
  };

  std::size_t bytes_;
  std::unique_ptr<char, Free> data_;
};

struct GridShape {
  long long batches, heads, segments;
  int warps;    // of a block
  int cluster;  // blocks that share a head, or a segment of it
};

template <class Body>
class Grid {
 public:
  Grid(const GridShape& shape, Launch& launch, const Body& body)
      : shape_(shape),
        clusters_(launch.blocks > 0 ? launch.blocks / shape.cluster : shape.batches * shape.heads * shape.segments),
        body_(body),
        sync_(launch, shape.cluster) {
    memory_.reserve(sync_.block.size());
    for (BlockSync& block : sync_.block) block.memory = memory_.emplace_back(launch.shared_bytes).data();
  }

  // kDone, or what happened to the launch; its message says why.
  int run() {
    std::vector<std::thread> threads;
    try {
      for (int n = 0; n < shape_.cluster * shape_.warps; ++n)
        threads.emplace_back([this, n] { run_warp(n / shape_.warps, n % shape_.warps); });
    } catch (const std::exception& error) {
      starve(error.what(), static_cast<int>(threads.size()), 0);
    }
    for (std::thread& thread : threads) thread.join();
    if (starved_.load()) return kStarved;
    return sync_.watchdog.failed() ? kFailed : kDone;
  }

 private:
  void starve(const char* what, int warp, long long block) {
    starved_.store(true);
    sync_.watchdog.fail(what, warp, block);
  }

  void run_warp(int rank, int warp) {
    Block block{};
    try {
      for (long long index = 0; index < clusters_; ++index) {
        block = block_at(index, rank, warp);
        run_block(block);
      }
    } catch (const Stalled&) {  // reported where it was noticed
    } catch (const std::bad_alloc& error) {
      starve(error.what(), warp, block.index);
    } catch (const std::exception& error) {
      sync_.watchdog.fail(error.what(), warp, block.index);
    }
    copy::queue().clear();
  }

  Block block_at(long long index, int rank, int warp) {
    Block block{};
    block.warp = warp;
    block.warps = shape_.warps;
    block.batch = index / shape_.segments / shape_.heads;
    block.head = index / shape_.segments % shape_.heads;
    block.segment = static_cast<int>(index % shape_.segments);
    block.segments = static_cast<int>(shape_.segments);
    block.rank = rank;
    block.memory = memory_[static_cast<std::size_t>(rank)].data();
    block.index = index * shape_.cluster + rank;
    block.cluster = &sync_;
    return block;
  }

  void run_block(const Block& block) {
    copy::queue().clear();
    block.cluster_barrier();  // the last blocks are done with their memory
    if (block.warp == 0) {
      BlockSync& sync = sync_.block[static_cast<std::size_t>(block.rank)];
      memory_[static_cast<std::size_t>(block.rank)].poison();
      sync.flag.store(true);
      for (auto& turns : sync.said) {
        for (auto& said : turns) said.store(false);
      }
    }
    block.cluster_barrier();
    body_(block);
  }

  GridShape shape_;
  long long clusters_;
  const Body& body_;
  ClusterSync sync_;
  std::atomic<bool> starved_{false};
  std::vector<SharedMemory> memory_;  // of each block
};

// kDone, or another result with launch.message set.
template <class Body>
int run_grid(const GridShape& shape, Launch& launch, const Body& body) {
  try {
    return Grid<Body>(shape, launch, body).run();
  } catch (const std::exception& error) {  // no memory for the blocks
    std::snprintf(launch.message, sizeof(launch.message), "%s", error.what());
    return kStarved;
  }
}

}  // namespace wkvc::host
