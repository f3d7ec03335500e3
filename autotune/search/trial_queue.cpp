#include "autotune/search/trial_queue.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "runtime/base/side_by_side.h"

namespace wkvc {

// What the threads of one call share.
struct TrialQueue::Batch {
  std::size_t wanted;
  const std::function<bool(std::size_t)>& going_on;
  std::mutex mutex = {};
  std::condition_variable one_is_done = {};
  std::size_t running = 0, compiled = 0;
  bool over = false;
  std::map<std::size_t, Trial> trials = {};
  std::exception_ptr failure = {};
};

TrialQueue::TrialQueue(Compile compile, std::vector<Config> order, unsigned threads)
    : compile_(std::move(compile)), order_(std::move(order)), threads_(std::max(1U, threads)) {}

// A thread: begins one after the other. It waits where those that run may be all that are wanted.
void TrialQueue::work(Batch& batch) {
  std::unique_lock lock(batch.mutex);
  while (true) {
    batch.one_is_done.wait(lock, [&] { return batch.over || batch.running + batch.compiled < batch.wanted; });
    if (batch.over) return;
    const bool first = batch.running == 0 && batch.trials.empty();
    if (is_empty() || (!first && !batch.going_on(begun_))) break;
    const std::size_t n = begun_++;
    ++batch.running;
    lock.unlock();
    Trial trial;
    std::exception_ptr failure;
    try {
      trial = compile_(order_[n]);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --batch.running;
    if (failure) batch.failure = failure;
    batch.compiled += trial.fault.empty() ? 1 : 0;
    batch.trials[n] = std::move(trial);
    batch.over = batch.over || batch.failure || batch.compiled >= batch.wanted;
    batch.one_is_done.notify_all();
  }
  batch.over = true;
  batch.one_is_done.notify_all();
}

std::vector<Trial> TrialQueue::next(std::size_t wanted, const std::function<bool(std::size_t)>& going_on) {
  Batch batch{.wanted = wanted, .going_on = going_on};
  side_by_side(threads_, threads_, [&](std::size_t) { work(batch); });
  if (batch.failure) std::rethrow_exception(batch.failure);
  std::vector<Trial> result;
  for (auto& [n, trial] : batch.trials) result.push_back(std::move(trial));
  return result;
}

}  // namespace wkvc
