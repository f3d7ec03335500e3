// The thread blocks of a cluster on the CPU, lane by lane: each lane is a fiber, warp instructions are places where 32
// of them meet. It lets the cuda target run without a GPU, on the instruction semantics of the PTX manual
// (wkvc/cuda/ptx.h here).
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "wkvc/host/copy_queue.h"

namespace wkvc::lanes_machine {

inline constexpr int kMailbox = 8;  // registers a lane may show to its warp in one instruction
using Mail = std::uint32_t[32][kMailbox];

class Machine {
 public:
  Machine(int threads, long long shared_bytes, int blocks);  // of each block; in a cluster

  // Runs `kernel` on every lane of one cluster. Throws std::runtime_error when the lanes wait for each other forever.
  void run_cluster(unsigned cluster, const std::function<void()>& kernel);

  static Machine& current();  // while a kernel runs

  int thread() const { return running_ % threads_; }
  int threads() const { return threads_; }
  unsigned block() const { return cluster_ * static_cast<unsigned>(blocks_.size()) + static_cast<unsigned>(rank()); }
  char* shared_memory() { return blocks_[rank()].shared.data()->bytes; }
  int* shared_words() { return reinterpret_cast<int*>(blocks_[rank()].shared.back().bytes); }

  // Addresses of shared memory: an offset, with the block's rank above it.
  std::uint32_t address_of(const void* p);
  std::uint32_t address_in(std::uint32_t address, int rank) const;
  void* at(std::uint32_t address);
  host::CopyQueue& copies() { return lanes_[running_].copies; }

  // Shows `count` registers to the warp and returns those of all its lanes.
  const Mail& exchange(const std::uint32_t* registers, int count);
  void meet_block(int id, int threads);
  bool meet_block_any(int id, int threads, bool flag);
  void meet_cluster();
  void note_progress() { progressed_ = true; }
  void yield();

 private:
  struct Lane {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    host::CopyQueue copies;
    unsigned exchanges = 0;
    bool done = false;
  };
  struct Meeting {
    int arrived = 0;
    unsigned generation = 0;
    bool said = false, any = false;  // by those who have arrived; of the last generation
  };
  struct Warp {
    Meeting meeting;
    Mail mail[2];  // by turns: whoever writes one knows that all have read it
  };

  struct alignas(128) Line {
    char bytes[128];
  };
  struct Block {
    Meeting barriers[16];
    std::vector<Line> shared;  // and words behind it
  };

  int rank() const { return running_ / threads_; }
  static void enter();
  void start(Lane& lane);
  bool run_round();
  void meet(Meeting& meeting, int threads);

  int threads_;  // of a block
  std::vector<Lane> lanes_;
  std::vector<Warp> warps_;
  std::vector<Block> blocks_;
  Meeting all_;
  const std::function<void()>* kernel_ = nullptr;
  ucontext_t scheduler_;
  unsigned cluster_ = 0;
  int running_ = 0;
  bool progressed_ = false;
  std::exception_ptr error_;
};

}  // namespace wkvc::lanes_machine
