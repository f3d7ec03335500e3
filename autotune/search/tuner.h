// The search: every configuration of a space compiled, validated and timed, the likeliest first.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "autotune/lockfile/candidate.h"
#include "autotune/lockfile/journal.h"
#include "autotune/search/trial.h"
#include "autotune/search/validation.h"

namespace wkvc {

struct TunerProgress {
  std::string_view doing;  // "compiling", "measuring", "measuring the best again"
  std::size_t done = 0, total = 0;
  double seconds_left = 0;  // of the budget
};

class Tuner {
 public:
  using Clock = std::chrono::steady_clock;
  // Median milliseconds of a program at a size.
  using Timer = std::function<double(const Program&, LaunchSize, int repetitions)>;

  struct Setup {
    Target target = Target::cuda;  // where candidates are validated
    GpuFacts gpu;                  // for the model
    Timer timer;                   // empty: candidates are ranked by the model and neither validated nor timed
    Clock::duration budget{};
    std::function<void(const TunerProgress&)> progress;  // may be empty
  };

  // `validation` and `journal` outlive the tuner; `journal` may be null.
  Tuner(Setup setup, const Validation& validation, Passes passes, Journal* journal);

  // What becomes of each trial at each size, trials in the order that the model ranks them in at the first size. What
  // the journal has is not done again. Records of what the budget did not last for say so. The fastest few are measured
  // again with more repetitions, so that noise does not choose among them.
  std::vector<Candidate> run(std::span<const Trial> trials, std::span<const LaunchSize> sizes);

 private:
  struct Judged;

  Candidate record_of(const Trial& trial, LaunchSize size) const;
  Candidate measured(const Trial& trial, LaunchSize size, Judged& judged);
  void measure_best_again(std::vector<Candidate>& candidates, std::span<const Trial> trials, LaunchSize size);
  double seconds_left() const;
  void report(std::string_view doing, std::size_t done, std::size_t total) const;

  Setup setup_;
  const Validation& validation_;
  Passes passes_;
  Journal* journal_;
  Clock::time_point end_;
};

// The fastest of the timed ones at a size, or null.
const Candidate* fastest(std::span<const Candidate> candidates, LaunchSize size);
// The one that the model expects to be fastest among those that are not rejected, or null.
const Candidate* likeliest(std::span<const Candidate> candidates, LaunchSize size);

}  // namespace wkvc
