// Pieces of 16 bytes from global to shared memory, done when they are waited for and not before. A null source means
// zeros.
#pragma once

#include <cstring>
#include <deque>
#include <vector>

#include "wkvc/host/scalar.h"

namespace wkvc {

namespace copy {

inline constexpr int kBytes = 16;

struct Pending {
  void* to;
  const void* from;
};

// The hardware keeps the groups of copies per thread; so does this.
class Queue {
 public:
  void add(Pending copy) {
    std::memset(copy.to, 0xff, kBytes);  // whoever reads before the wait reads NaN
    open_.push_back(copy);
  }
  void commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
  }
  void wait(std::size_t pending) {
    for (; groups_.size() > pending; groups_.pop_front()) {
      for (const Pending& copy : groups_.front()) complete(copy);
    }
  }
  void clear() {
    open_.clear();
    groups_.clear();
  }

 private:
  static void complete(const Pending& copy) {
    if (copy.from != nullptr) {
      std::memcpy(copy.to, copy.from, kBytes);
    } else {
      std::memset(copy.to, 0, kBytes);
    }
  }

  std::vector<Pending> open_;
  std::deque<std::vector<Pending>> groups_;
};

inline Queue& queue() {
  thread_local Queue queue;
  return queue;
}

template <class T>
void piece(T* to, const T* from) {
  queue().add({to, from});
}
template <class T>
void piece_elementwise(T* to, const T* from) {
  piece(to, from);
}

template <class T, int N>
void load_piece(const T* from, float (&x)[N]) {
  for (int i = 0; i < N; ++i) x[i] = scalar::widen(from[i]);
}

}  // namespace copy

// The copies since the last commit become one group of this warp; wait until at most `Pending` groups are under way.
inline void commit_copies() { copy::queue().commit(); }
template <int Pending>
void wait_copies() {
  copy::queue().wait(Pending);
}

}  // namespace wkvc
