// The search: configurations compiled, timed and validated, a few at a time; first what a call takes without a
// lockfile.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "autotune/lockfile/candidate.h"
#include "autotune/lockfile/journal.h"
#include "autotune/search/task.h"
#include "autotune/search/trial.h"
#include "autotune/search/trial_queue.h"
#include "autotune/search/validation.h"
#include "checking/timing.h"

namespace wkvc {

struct TunerProgress {
  std::string_view doing;  // "compiling", "measuring", "measuring the best again"
  std::size_t done = 0, total = 0;
  double seconds_left = 0;  // of the budget
};

class Tuner {
 public:
  using Clock = std::chrono::steady_clock;
  using Timer = std::function<Timing(const Program&, LaunchSize, int repetitions)>;

  struct Setup {
    Target target = Target::cuda;  // where candidates are validated
    GpuFacts gpu;                  // for the model
    Timer timer;                   // empty: candidates are ranked by the model and neither validated nor timed
    bool drawn = true;             // what is timed on is nobody's data: candidates that refuse many blocks are rejected
    TrialQueue::Compile compile;   // such as `tried`
    unsigned threads = 1;          // that compile
    Clock::time_point end;         // of the budget
    std::function<void(const TunerProgress&)> progress = {};  // may be empty
    std::function<void(const Candidate&)> found = {};         // called with each candidate; may be empty
  };

  // `task` and `journal` outlive the tuner; `journal` may be null.
  Tuner(Setup setup, const TuningTask& task, Journal* journal);

  // What becomes of the task's configurations at each size, as far as the budget lasts: what a call takes without a
  // lockfile first, and then a few at a time, those before others of which the model expects more. What the journal has
  // is not done again. In the end the fastest few are measured again, in turn with what a call takes, with more
  // repetitions: noise does not choose among them.
  std::vector<Candidate> run();

  // The fastest of those that were measured again, or null.
  const Candidate* winner(LaunchSize size) const;

  // Those that were compiled.
  std::span<const Trial> trials() const { return trials_; }
  std::size_t untried() const { return queue_.size() - queue_.begun(); }  // configurations

 private:
  struct Judged;

  void go_through(std::vector<Trial> batch);
  Candidate record_of(const Trial& trial, LaunchSize size) const;
  Candidate skipped(const Trial& trial, LaunchSize size) const;
  bool is_untuned(const Trial& trial) const;  // what calls take at some size
  Candidate measured(const Trial& trial, LaunchSize size, Judged& judged);
  const Verdict& verdict_of(const Trial& trial, LaunchSize size, Judged& judged);
  void measure_best_again(LaunchSize size);
  bool has_time_to_compile(std::size_t begun) const;
  double seconds_of_finals() const;
  double seconds_left() const;
  void report(std::string_view doing, std::size_t done, std::size_t total) const;

  Setup setup_;
  const TuningTask& task_;
  Journal* journal_;
  TrialQueue queue_;
  std::vector<Trial> trials_;
  std::vector<Candidate> candidates_, winners_;
  std::map<std::string, Validation> validations_;  // by their size
  double longest_batch_ = 0;                       // seconds of compiling
};

// The fastest of the timed ones at a size, or null.
const Candidate* fastest(std::span<const Candidate> candidates, LaunchSize size);
// The one of this configuration at a size, or null.
const Candidate* find_candidate(std::span<const Candidate> candidates, const Config& config, LaunchSize size);

// Whether an entry is worth its place: faster by more than noise than what a call takes without one. `untuned` may be
// null, or without a time: then a call has nothing.
bool beats(const Candidate& best, const Candidate* untuned);

}  // namespace wkvc
