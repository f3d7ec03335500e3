// Waiting that ends: a warp that waits in vain while no warp of the launch makes progress reports and unwinds, and
// every other waiting warp with it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "wkvc/host/launch.h"

namespace wkvc::host {

struct Stalled {};  // thrown through a kernel's body

class Watchdog {
 public:
  explicit Watchdog(Launch& launch) : launch_(launch) {}

  // Relaxed on purpose: progress must not order memory between warps, or TSan would not see a missing barrier.
  void note_progress() { progress_.fetch_add(1, std::memory_order_relaxed); }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  // The first report is kept.
  void fail(const char* what, int warp, long long block) {
    if (failed_.exchange(true, std::memory_order_relaxed)) return;
    std::snprintf(launch_.message, sizeof(launch_.message), "%s (block %lld, warp %d)", what, block, warp);
  }

  template <class Done>
  void wait(Done done, const char* what, int warp, long long block) {
    Patience patience(*this);
    while (!done()) {
      if (patience.is_over()) fail(what, warp, block);
      if (failed()) throw Stalled{};
      std::this_thread::yield();
    }
    note_progress();
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Runs out when the launch made no progress for stall_seconds; looks at the clock now and then.
  class Patience {
   public:
    explicit Patience(const Watchdog& watchdog) : watchdog_(watchdog) {}

    bool is_over() {
      if (++polls_ % 256 != 0) return false;
      const auto progress = watchdog_.progress_.load(std::memory_order_relaxed);
      const auto now = Clock::now();
      if (polls_ == 256 || progress != progress_seen_) {
        progress_seen_ = progress;
        since_ = now;
      }
      return std::chrono::duration<double>(now - since_).count() > watchdog_.launch_.stall_seconds;
    }

   private:
    const Watchdog& watchdog_;
    unsigned long long polls_ = 0;
    unsigned long long progress_seen_ = 0;
    Clock::time_point since_;
  };

  Launch& launch_;
  std::atomic<unsigned long long> progress_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace wkvc::host
