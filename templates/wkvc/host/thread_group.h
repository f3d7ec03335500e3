// Threads that are joined where the group ends.
#pragma once

#include <thread>
#include <utility>
#include <vector>

namespace wkvc::host {

class ThreadGroup {
 public:
  ThreadGroup() = default;
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;
  ~ThreadGroup() {
    for (std::thread& thread : threads_) thread.join();
  }

  // Throws std::exception where the machine has no thread.
  template <class Run>
  void start(Run run) {
    threads_.emplace_back(std::move(run));
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace wkvc::host
