// Configurations that are compiled in turn, a few at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "autotune/search/trial.h"

namespace wkvc {

class TrialQueue {
 public:
  using Compile = std::function<Trial(const Config&)>;

  // Compiles as many at once as there are `threads`.
  TrialQueue(Compile compile, std::vector<Config> order, unsigned threads);

  std::size_t size() const { return order_.size(); }
  std::size_t begun() const { return begun_; }
  bool is_empty() const { return begun_ == order_.size(); }

  // Compiles the next ones until `wanted` of them have kernels, and returns all that were begun, in their order. Asks
  // `going_on` before each but the first, with how many were begun, and begins no more where the answer is no.
  std::vector<Trial> next(std::size_t wanted, const std::function<bool(std::size_t)>& going_on);

 private:
  struct Batch;
  void work(Batch& batch);

  Compile compile_;
  std::vector<Config> order_;
  unsigned threads_;
  std::size_t begun_ = 0;
};

}  // namespace wkvc
