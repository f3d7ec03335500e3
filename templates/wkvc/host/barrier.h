// Barriers among warps. Only release/acquire atomics, for warps that are threads: with a mutex or atomic::wait inside,
// TSan takes unrelated waits for order and misses a deleted barrier.
#pragma once

#include <atomic>

#include "wkvc/common/dtype.h"

namespace wkvc::host {

class Barrier {
 public:
  // `wait_until(done)` returns when done() holds.
  template <class WaitUntil>
  void arrive_and_wait(unsigned count, WaitUntil wait_until) {
    const unsigned phase = phase_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
    } else {
      wait_until([&] { return phase_.load(std::memory_order_acquire) != phase; });
    }
  }

 private:
  std::atomic<unsigned> arrived_{0};
  std::atomic<unsigned> phase_{0};
};

// A word in shared memory: pending arrivals, arrivals a phase, and the phase's parity, 16 bits each.
class MbarrierWord {
 public:
  explicit MbarrierWord(u64& word) : word_(word) {}

  void init(int arrivals) {
    const auto count = static_cast<u64>(arrivals);
    word_.store(count | count << 16, std::memory_order_release);
  }
  void arrive() {
    u64 old = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(old, after_arrival(old), std::memory_order_acq_rel)) {
    }
  }
  bool passed(int parity) const { return static_cast<int>(word_.load(std::memory_order_acquire) >> 32 & 1) != parity; }

 private:
  static u64 after_arrival(u64 word) {
    const u64 pending = word & 0xffff, count = word >> 16 & 0xffff, parity = word >> 32 & 1;
    if (pending > 1) return word - 1;
    return count | count << 16 | (parity ^ 1) << 32;
  }

  std::atomic_ref<u64> word_;
};

}  // namespace wkvc::host
