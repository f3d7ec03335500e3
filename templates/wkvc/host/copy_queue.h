// Groups of 16-byte copies that happen when they are waited for, and not before.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

namespace wkvc::host {

class CopyQueue {
 public:
  // A null source means zeros.
  void add(void* to, const void* from) {
    std::memset(to, 0xff, kBytes);  // whoever reads before the wait reads NaN
    open_.push_back({to, from});
  }
  void commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
  }
  // Completes all groups but the last `pending`.
  void wait(std::size_t pending) {
    for (; groups_.size() > pending; groups_.pop_front()) {
      for (const Copy& copy : groups_.front()) complete(copy);
    }
  }
  void clear() {
    open_.clear();
    groups_.clear();
  }

 private:
  static constexpr std::size_t kBytes = 16;

  struct Copy {
    void* to;
    const void* from;
  };

  static void complete(const Copy& copy) {
    if (copy.from != nullptr) {
      std::memcpy(copy.to, copy.from, kBytes);
    } else {
      std::memset(copy.to, 0, kBytes);
    }
  }

  std::vector<Copy> open_;
  std::deque<std::vector<Copy>> groups_;
};

}  // namespace wkvc::host
