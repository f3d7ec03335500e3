#include "autotune/search/tuner.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "autotune/lockfile/config_json.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr int repetitions = 20, final_repetitions = 100, finalists = 5;

// The trial of a record.
const Trial* find_trial(std::span<const Trial> trials, const Candidate& candidate) {
  const auto found = std::ranges::find_if(
      trials, [&](const Trial& trial) { return config_text(trial.config) == config_text(candidate.config); });
  return found == trials.end() ? nullptr : &*found;
}

// The least of what `value` gives, among those it gives something for.
template <class Value>
const Candidate* least(std::span<const Candidate> candidates, LaunchSize size, const Value& value) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.size != size || !value(candidate)) continue;
    if (best == nullptr || *value(candidate) < *value(*best)) best = &candidate;
  }
  return best;
}

}  // namespace

// A trial's kernels and what was found of them, once for all sizes.
struct Tuner::Judged {
  std::optional<Program> program;
  std::optional<Verdict> verdict;
};

Tuner::Tuner(Setup setup, const Validation& validation, Passes passes, Journal* journal)
    : setup_(std::move(setup)),
      validation_(validation),
      passes_(passes),
      journal_(journal),
      end_(Clock::now() + setup_.budget) {}

double Tuner::seconds_left() const { return std::max(0.0, std::chrono::duration<double>(end_ - Clock::now()).count()); }

void Tuner::report(std::string_view doing, std::size_t done, std::size_t total) const {
  if (setup_.progress) setup_.progress({doing, done, total, seconds_left()});
}

Candidate Tuner::record_of(const Trial& trial, LaunchSize size) const {
  Candidate record;
  record.config = trial.config;
  record.size = size;
  if (!trial.fault.empty()) {
    record.outcome = Outcome::rejected;
    record.reason = trial.fault;
    return record;
  }
  record.use = trial.use();
  record.predicted_ms = predicted_ms(trial.kernels, size, setup_.gpu);
  return record;
}

Candidate Tuner::measured(const Trial& trial, LaunchSize size, Judged& judged) {
  Candidate record = record_of(trial, size);
  if (record.outcome == Outcome::rejected) return record;
  if (!judged.program) judged.program = trial.load(setup_.target);
  if (!judged.verdict) judged.verdict = validation_.of(*judged.program, trial.runnable(passes_));
  record.errors = judged.verdict->errors;
  record.outputs = judged.verdict->outputs;
  if (!judged.verdict->fault.empty()) {
    record.outcome = Outcome::rejected;
    record.reason = judged.verdict->fault;
    return record;
  }
  record.ms = setup_.timer(*judged.program, size, repetitions);
  return record;
}

std::vector<Candidate> Tuner::run(std::span<const Trial> trials, std::span<const LaunchSize> sizes) {
  std::vector<const Trial*> order;
  for (const Trial& trial : trials) order.push_back(&trial);
  const auto expected = [&](const Trial* trial) {
    return trial->fault.empty() ? predicted_ms(trial->kernels, sizes.front(), setup_.gpu)
                                : std::numeric_limits<double>::infinity();
  };
  std::ranges::stable_sort(order, {}, expected);

  std::vector<Candidate> candidates;
  for (const Trial* trial : order) {
    Judged judged;
    for (const LaunchSize& size : sizes) {
      const Candidate* known = journal_ != nullptr ? journal_->find(trial->config, size) : nullptr;
      if (known != nullptr) {
        candidates.push_back(*known);
      } else if (!setup_.timer || seconds_left() == 0) {
        Candidate& record = candidates.emplace_back(record_of(*trial, size));
        if (record.outcome == Outcome::rejected) continue;
        record.outcome = Outcome::skipped;
        record.reason = setup_.timer ? "the budget was over" : "not measured: ranked by the model";
      } else {
        candidates.push_back(measured(*trial, size, judged));
        if (journal_ != nullptr) journal_->append(candidates.back());
      }
      report("measuring", candidates.size(), order.size() * sizes.size());
    }
  }
  if (setup_.timer) {
    for (const LaunchSize& size : sizes) measure_best_again(candidates, trials, size);
  }
  return candidates;
}

void Tuner::measure_best_again(std::vector<Candidate>& candidates, std::span<const Trial> trials, LaunchSize size) {
  std::vector<Candidate*> best;
  for (Candidate& candidate : candidates) {
    if (candidate.size == size && candidate.outcome == Outcome::timed) best.push_back(&candidate);
  }
  std::ranges::stable_sort(best, {}, [](const Candidate* candidate) { return *candidate->ms; });
  if (best.size() > finalists) best.resize(finalists);
  for (std::size_t i = 0; i < best.size(); ++i) {
    const Trial* trial = find_trial(trials, *best[i]);
    if (trial == nullptr) internal_error("no trial of {}", config_text(best[i]->config));
    best[i]->ms = setup_.timer(trial->load(setup_.target), size, final_repetitions);
    report("measuring the best again", i + 1, best.size());
  }
}

const Candidate* fastest(std::span<const Candidate> candidates, LaunchSize size) {
  return least(candidates, size, [](const Candidate& candidate) {
    return candidate.outcome == Outcome::timed ? candidate.ms : std::nullopt;
  });
}

const Candidate* likeliest(std::span<const Candidate> candidates, LaunchSize size) {
  return least(candidates, size, [](const Candidate& candidate) {
    return candidate.outcome == Outcome::rejected ? std::nullopt : candidate.predicted_ms;
  });
}

}  // namespace wkvc
