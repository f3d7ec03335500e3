#include "runtime/cache/cache_lock.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace wkvc {

CacheLock::CacheLock(Descriptor file, std::int64_t place) : file_(std::move(file)), place_(place) {}

// Closing is not enough: a process that was forked meanwhile has the file open, too.
CacheLock::~CacheLock() {
  if (file_) set(F_UNLCK);
}

bool CacheLock::set(short type) const {
  struct flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = place_;
  range.l_len = 1;
  return ::fcntl(file_.get(), F_OFD_SETLK, &range) == 0;
}

// It asks again and again rather than to sleep in F_OFD_SETLKW, which has no end where the holder has been stopped.
std::optional<CacheLock> CacheLock::take(const CacheDirectory& directory, const EntryId& id,
                                         std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds longest_pause{10};
  CacheLock lock(directory.open_for_locks("lock"), static_cast<std::int64_t>(id.name[0] >> 1U));
  const Clock::time_point end = Clock::now() + patience;
  for (std::chrono::milliseconds pause{1}; !lock.set(F_WRLCK); pause = std::min(2 * pause, longest_pause)) {
    const bool is_held = errno == EAGAIN || errno == EACCES || errno == EINTR;
    if (!is_held || Clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(pause);
  }
  return lock;
}

}  // namespace wkvc
