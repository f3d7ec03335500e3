// What happened to a launch, told to the caller.
#pragma once

#include <cstdio>
#include <mutex>

#include "wkvc/host/launch.h"

namespace wkvc::host {

class Report {
 public:
  explicit Report(Launch& launch) : launch_(launch) {}

  // Keeps what happened to the first blocks of the grid, whichever thread was first to run blocks.
  void add(int result, const char* what, int warp, long long block) {
    const std::lock_guard lock(mutex_);
    if (result_ != kDone && block >= block_) return;
    result_ = result;
    block_ = block;
    std::snprintf(launch_.message, sizeof(launch_.message), "%s (block %lld, warp %d)", what, block, warp);
  }

  // Returns kDone as long as nothing happened.
  int result() {
    const std::lock_guard lock(mutex_);
    return result_;
  }

 private:
  std::mutex mutex_;
  Launch& launch_;
  int result_ = kDone;
  long long block_ = 0;
};

}  // namespace wkvc::host
