// A thread block: barriers among its warps, each of which is a thread.
#pragma once

#include "wkvc/common/block_base.h"
#include "wkvc/host/barrier.h"
#include "wkvc/host/watchdog.h"

namespace wkvc {

namespace host {

inline constexpr int kNamedBarriers = 16;

// What the warps of the running block share besides memory. Barrier 0 is the one of the whole block.
struct BlockSync {
  explicit BlockSync(Launch& launch) : watchdog(launch) {}

  Watchdog watchdog;
  Barrier barrier[kNamedBarriers];
};

}  // namespace host

struct Block : BlockBase {
  long long index;
  host::BlockSync* sync;

  void barrier() const { wait_at(0, warps, "waits at the block's barrier"); }
  // Barrier `Id` (1 … 15) among `count` warps, all of which call this.
  template <int Id>
  void barrier(int count) const {
    wait_at(Id, count, "waits at a named barrier");
  }

  // Arrivals are counted per warp. Each completed phase flips the parity that wait() asks for, starting with 0.
  struct Mbarrier {
    u64* word;
    const Block* block;

    // Called by one warp; the others may use it after a block barrier.
    void init(int warp_arrivals) const { host::MbarrierWord(*word).init(warp_arrivals); }
    void arrive() const {
      host::MbarrierWord(*word).arrive();
      block->sync->watchdog.note_progress();
    }
    void wait(int parity) const {
      block->wait_until([&] { return host::MbarrierWord(*word).passed(parity); }, "waits for an mbarrier");
    }
  };
  Mbarrier mbarrier(int offset) const { return {reinterpret_cast<u64*>(memory + offset), this}; }

 private:
  template <class Done>
  void wait_until(Done done, const char* what) const {
    sync->watchdog.wait(done, what, warp, index);
  }
  void wait_at(int id, int count, const char* what) const {
    sync->barrier[id].arrive_and_wait(static_cast<unsigned>(count), [&](auto done) { wait_until(done, what); });
    sync->watchdog.note_progress();
  }
};

// A thread has the registers it has.
template <int Registers>
void increase_registers() {}
template <int Registers>
void decrease_registers() {}

}  // namespace wkvc
