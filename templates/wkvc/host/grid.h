// Runs all blocks of a grid, one after the other, with a thread for each warp.
#pragma once

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
  int warps;
};

template <class Body>
class Grid {
 public:
  Grid(const GridShape& shape, Launch& launch, const Body& body)
      : shape_(shape),
        blocks_(launch.blocks > 0 ? launch.blocks : shape.batches * shape.heads * shape.segments),
        body_(body),
        memory_(launch.shared_bytes),
        sync_(launch) {}

  // False when the launch failed; its message says why.
  bool run() {
    std::vector<std::thread> threads;
    try {
      for (int warp = 0; warp < shape_.warps; ++warp) threads.emplace_back([this, warp] { run_warp(warp); });
    } catch (const std::exception& error) {
      sync_.watchdog.fail(error.what(), static_cast<int>(threads.size()), 0);
    }
    for (std::thread& thread : threads) thread.join();
    return !sync_.watchdog.failed();
  }

 private:
  void run_warp(int warp) {
    Block block{};
    try {
      for (long long index = 0; index < blocks_; ++index) {
        block = block_at(index, warp);
        run_block(block);
      }
    } catch (const Stalled&) {  // reported where it was noticed
    } catch (const std::exception& error) {
      sync_.watchdog.fail(error.what(), warp, block.index);
    }
    copy::queue().clear();
  }

  Block block_at(long long index, int warp) {
    Block block{};
    block.warp = warp;
    block.warps = shape_.warps;
    block.batch = index / shape_.segments / shape_.heads;
    block.head = index / shape_.segments % shape_.heads;
    block.segment = static_cast<int>(index % shape_.segments);
    block.segments = static_cast<int>(shape_.segments);
    block.memory = memory_.data();
    block.index = index;
    block.sync = &sync_;
    return block;
  }

  void run_block(const Block& block) {
    copy::queue().clear();
    block.barrier();  // the last block is done with its memory
    if (block.warp == 0) memory_.poison();
    block.barrier();
    body_(block);
  }

  GridShape shape_;
  long long blocks_;
  const Body& body_;
  SharedMemory memory_;
  BlockSync sync_;
};

// 0, or 1 with launch.message set.
template <class Body>
int run_grid(const GridShape& shape, Launch& launch, const Body& body) {
  try {
    return Grid<Body>(shape, launch, body).run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::snprintf(launch.message, sizeof(launch.message), "%s", error.what());
    return 1;
  }
}

}  // namespace wkvc::host
