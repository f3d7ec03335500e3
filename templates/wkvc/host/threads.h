// Warps of a cluster as threads.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>

#include "wkvc/host/thread_group.h"
#include "wkvc/host/warp.h"

namespace wkvc::host {

class Threads {
 public:
  // How many threads may run clusters side by side: the warps of one cluster are threads enough.
  static long long clusters_at_once() { return 1; }

  Threads(int count, double stall_seconds) : count_(count), stall_seconds_(stall_seconds) {}

  // Calls run_warp(n) on the thread of each warp n. Returns when all calls have. Throws std::exception, and calls
  // nothing, where the machine has not so many threads.
  void run(const std::function<void(int)>& run_warp) {
    std::atomic<Start> start{Start::later};
    ThreadGroup threads;
    try {
      for (int n = 0; n < count_; ++n) threads.start([&, n] { run_when(start, run_warp, n); });
    } catch (const std::exception&) {
      start.store(Start::never);
      throw;
    }
    start.store(Start::now);
  }

  // Returns true when done() holds; false when no warp's waiting has ended for stall_seconds.
  template <class Done>
  bool wait(Done& done) {
    Patience patience(*this);
    while (!done()) {
      if (patience.is_over()) return false;
      yield();
    }
    progress_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  void yield() { std::this_thread::yield(); }

 private:
  using Clock = std::chrono::steady_clock;

  enum class Start { later, now, never };

  void run_when(const std::atomic<Start>& start, const std::function<void(int)>& run_warp, int n) {
    while (start.load() == Start::later) yield();
    if (start.load() == Start::never) return;
    Warp warp;
    running_warp() = &warp;
    run_warp(n);
  }

  // Runs out after stall_seconds without progress; looks at the clock now and then.
  class Patience {
   public:
    explicit Patience(const Threads& threads) : threads_(threads) {}

    bool is_over() {
      if (++polls_ % 256 != 0) return false;
      const auto progress = threads_.progress_.load(std::memory_order_relaxed);
      const auto now = Clock::now();
      if (polls_ == 256 || progress != progress_seen_) {
        progress_seen_ = progress;
        since_ = now;
      }
      return std::chrono::duration<double>(now - since_).count() > threads_.stall_seconds_;
    }

   private:
    const Threads& threads_;
    unsigned long long polls_ = 0;
    unsigned long long progress_seen_ = 0;
    Clock::time_point since_;
  };

  int count_;
  double stall_seconds_;
  // Relaxed on purpose: progress must not order memory between warps, or TSan would not see a missing barrier.
  std::atomic<unsigned long long> progress_{0};
};

}  // namespace wkvc::host
