#include "runtime/base/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace wkvc {
namespace {

class Shared {
 public:
  Shared(std::size_t count, const std::function<void(std::size_t)>& work) : count_(count), work_(work) {}

  void take_turns() {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        work_(i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        next_ = count_;
      }
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t)>& work_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;  // of what follows
  std::exception_ptr failure_;
};

}  // namespace

void side_by_side(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
  Shared shared(count, work);
  {
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < std::min<std::size_t>(threads, count))
        others.emplace_back([&] { shared.take_turns(); });
    } catch (const std::system_error&) {  // the threads that there are do all of it
    }
    shared.take_turns();
  }
  shared.rethrow();
}

void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  side_by_side(count, std::thread::hardware_concurrency(), work);
}

}  // namespace wkvc
