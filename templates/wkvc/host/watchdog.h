// Waiting that ends: a warp that waits in vain while no warp of the cluster makes progress reports and unwinds, and
// every other waiting warp with it.
#pragma once

#include <atomic>

#include "wkvc/host/report.h"
#include "wkvc/host/warps.h"

namespace wkvc::host {

struct Stalled {};  // thrown through a kernel's body

class Watchdog {
 public:
  Watchdog(Warps& warps, Report& report) : warps_(warps), report_(report) {}

  // The first failure of a cluster is reported.
  void fail(int result, const char* what, int warp, long long block) {
    if (!failed_.exchange(true, std::memory_order_relaxed)) report_.add(result, what, warp, block);
  }

  template <class Done>
  void wait(Done done, const char* what, int warp, long long block) {
    const auto has_ended = [&] { return failed() || done(); };
    if (!warps_.wait(has_ended)) fail(kFailed, what, warp, block);
    if (failed()) throw Stalled{};
  }

 private:
  // Relaxed on purpose: a failure must not order memory between warps, or TSan would not see a missing barrier.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  Warps& warps_;
  Report& report_;
  std::atomic<bool> failed_{false};
};

}  // namespace wkvc::host
