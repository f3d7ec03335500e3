#include "runtime/base/leftovers.h"

#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace wkvc {
namespace {

// A program or thread that writes there may add a file while the others are removed.
void remove_whole(const std::filesystem::path& path) {
  std::error_code error;
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::filesystem::remove_all(path, error);
    if (!error) return;
  }
}

}  // namespace

Leftovers& Leftovers::all() {
  // Never destroyed: other statics own directories until the process ends. At its normal end those of statics that are
  // never destroyed go, such as kernels that threads may still launch.
  static auto* const all = [] {
    std::atexit([] { Leftovers::all().remove_all(); });
    return new Leftovers;
  }();
  return *all;
}

void Leftovers::add_made(const std::filesystem::path& path) { owners_[path] = ::getpid(); }

void Leftovers::remove(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find(path);
  if (found == owners_.end()) return;
  if (found->second == ::getpid()) remove_whole(path);
  owners_.erase(found);
}

void Leftovers::forget(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  owners_.erase(path);
}

void Leftovers::remove_all() {
  const std::lock_guard lock(mutex_);
  remove_own();
}

void Leftovers::remove_for_good() {
  mutex_.lock();
  remove_own();
}

void Leftovers::remove_own() const {
  for (const auto& [path, owner] : owners_)
    if (owner == ::getpid()) remove_whole(path);
}

}  // namespace wkvc
