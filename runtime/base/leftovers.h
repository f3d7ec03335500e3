// Temporary directories and unfinished files, which a process that ends early would leave behind. Internal to the
// runtime.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <mutex>

namespace wkvc {

class Leftovers {
 public:
  // The ones of this process, removed when the process ends normally.
  static Leftovers& all();

  // Adds the path that `make` returns. No other thread removes paths meanwhile.
  template <class Make>
  std::filesystem::path add(const Make& make) {
    const std::lock_guard lock(mutex_);
    std::filesystem::path path = make();
    add_made(path);
    return path;
  }
  // Removes a path with its contents, and forgets it. A process that was forked leaves its parent's paths alone.
  void remove(const std::filesystem::path& path);
  void forget(const std::filesystem::path& path);

  void remove_all();
  // The same for a process that is about to end: add() and remove() wait from then on.
  void remove_for_good();

 private:
  void add_made(const std::filesystem::path& path);
  void remove_own() const;  // with the mutex held

  std::mutex mutex_;
  std::map<std::filesystem::path, pid_t> owners_;  // the process that made each path
};

}  // namespace wkvc
