#include "autotune/search/tuner.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "autotune/lockfile/config_json.h"
#include "autotune/lockfile/shape_class.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr int repetitions = 20, final_repetitions = 50, finalists = 5, final_rounds = 3;
constexpr double noise = 0.01;  // of a time, between rounds

double seconds_since(Tuner::Clock::time_point begin) {
  return std::chrono::duration<double>(Tuner::Clock::now() - begin).count();
}

// Why a time that a kernel's refusals made does not count; empty where it does.
std::string refused_text(std::span<const Refusals> refusals) {
  const Refusals* const most = refusing_many(refusals);
  if (most == nullptr) return "";
  return fmt::format("{} of {} blocks ran again with scales ({}), on inputs that were drawn", most->refused,
                     most->blocks, most->tensor);
}

}  // namespace

// A trial's kernels and what was found of them.
struct Tuner::Judged {
  std::optional<Program> program;
  std::map<std::string, Verdict> verdicts;  // by the size they were validated at
};

Tuner::Tuner(Setup setup, const TuningTask& task, Journal* journal)
    : setup_(std::move(setup)), task_(task), journal_(journal), queue_(setup_.compile, task.order(), setup_.threads) {}

double Tuner::seconds_left() const { return std::max(0.0, -seconds_since(setup_.end)); }

void Tuner::report(std::string_view doing, std::size_t done, std::size_t total) const {
  if (setup_.progress) setup_.progress({doing, done, total, seconds_left()});
}

// What calls take without a lockfile is tried whatever the budget is.
bool Tuner::has_time_to_compile(std::size_t begun) const {
  return begun < task_.untuned().size() || seconds_left() > longest_batch_ + seconds_of_finals();
}

// What measuring the best again takes, about.
double Tuner::seconds_of_finals() const {
  double ms = 0;
  for (const LaunchSize& size : task_.sizes()) {
    const Candidate* const best = fastest(candidates_, size);
    if (best != nullptr) ms += *best->ms;
  }
  return 1.5e-3 * ms * (finalists + 1) * final_rounds * final_repetitions;
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

Candidate Tuner::skipped(const Trial& trial, LaunchSize size) const {
  Candidate record = record_of(trial, size);
  if (record.outcome == Outcome::rejected) return record;
  record.outcome = Outcome::skipped;
  record.reason = setup_.timer ? "the budget was over" : "not measured: ranked by the model";
  return record;
}

bool Tuner::is_untuned(const Trial& trial) const {
  return std::ranges::any_of(task_.untuned(),
                             [&](const Config& config) { return config_text(config) == config_text(trial.config); });
}

const Verdict& Tuner::verdict_of(const Trial& trial, LaunchSize size, Judged& judged) {
  const LaunchSize checked = size_to_validate(size);
  const std::string key = text_of(checked);
  if (const auto known = judged.verdicts.find(key); known != judged.verdicts.end()) return known->second;
  auto validation = validations_.find(key);
  if (validation == validations_.end()) validation = validations_.emplace(key, task_.validation(trial, checked)).first;
  return judged.verdicts[key] = validation->second.of(*judged.program, trial.runnable(task_.passes()));
}

Candidate Tuner::measured(const Trial& trial, LaunchSize size, Judged& judged) {
  Candidate record = record_of(trial, size);
  if (record.outcome == Outcome::rejected) return record;
  if (!judged.program) judged.program = trial.load(setup_.target);
  try {
    const Timing timing = setup_.timer(*judged.program, size, repetitions);
    const Verdict& verdict = verdict_of(trial, size, judged);
    record.errors = verdict.errors;
    record.outputs = verdict.outputs;
    record.reason = verdict.fault;
    if (record.reason.empty() && setup_.drawn) record.reason = refused_text(timing.refusals);
    if (record.reason.empty()) record.ms = timing.ms;
  } catch (const InternalError& error) {
    record.reason = fmt::format("the kernels fail: {}", error.what());
  }
  if (!record.ms) record.outcome = Outcome::rejected;
  return record;
}

// Every trial of a batch at every size.
void Tuner::go_through(std::vector<Trial> batch) {
  std::ranges::stable_sort(batch, {}, [&](const Trial& trial) {
    return trial.fault.empty() ? predicted_ms(trial.kernels, task_.sizes().front(), setup_.gpu) : 0;
  });
  for (const Trial& trial : batch) {
    Judged judged;
    for (const LaunchSize& size : task_.sizes()) {
      const Candidate* known = journal_ != nullptr ? journal_->find(trial.config, size) : nullptr;
      if (known != nullptr) {
        candidates_.push_back(*known);
      } else if (setup_.timer && (seconds_left() > 0 || is_untuned(trial))) {
        candidates_.push_back(measured(trial, size, judged));
        if (journal_ != nullptr) journal_->append(candidates_.back());
      } else {
        candidates_.push_back(skipped(trial, size));
      }
      if (setup_.found) setup_.found(candidates_.back());
    }
    report("measuring", candidates_.size(), queue_.size() * task_.sizes().size());
  }
  std::ranges::move(batch, std::back_inserter(trials_));
}

const Candidate* Tuner::winner(LaunchSize size) const {
  const auto found = std::ranges::find(winners_, size, &Candidate::size);
  return found == winners_.end() ? nullptr : &*found;
}

std::vector<Candidate> Tuner::run() {
  const auto going_on = [&](std::size_t begun) {
    report("compiling", begun, queue_.size());
    return has_time_to_compile(begun);
  };
  while (!queue_.is_empty() && has_time_to_compile(queue_.begun())) {
    const auto begin = Clock::now();
    std::vector<Trial> batch = queue_.next(trials_.empty() ? 1 : setup_.threads, going_on);
    longest_batch_ = std::max(longest_batch_, seconds_since(begin));
    go_through(std::move(batch));
  }
  if (setup_.timer) {
    for (const LaunchSize& size : task_.sizes()) measure_best_again(size);
  }
  return candidates_;
}

void Tuner::measure_best_again(LaunchSize size) {
  std::vector<Candidate*> best;
  for (Candidate& candidate : candidates_) {
    if (candidate.size == size && candidate.outcome == Outcome::timed) best.push_back(&candidate);
  }
  const Candidate* const untuned = find_candidate(candidates_, task_.untuned_at(size), size);
  std::ranges::stable_sort(best, [&](const Candidate* a, const Candidate* b) {
    return std::pair(a != untuned, *a->ms) < std::pair(b != untuned, *b->ms);
  });
  if (best.size() > finalists + 1) best.resize(finalists + 1);
  std::vector<Program> programs;
  for (const Candidate* candidate : best) {
    const auto trial = std::ranges::find(trials_, config_text(candidate->config),
                                         [](const Trial& it) { return config_text(it.config); });
    if (trial == trials_.end()) internal_error("no trial of {}", config_text(candidate->config));
    programs.push_back(trial->load(setup_.target));
  }
  std::vector<std::array<double, final_rounds>> times(best.size());
  for (int round = 0; round < final_rounds; ++round) {
    for (std::size_t i = 0; i < best.size(); ++i) {
      times[i].at(static_cast<std::size_t>(round)) = setup_.timer(programs[i], size, final_repetitions).ms;
      report("measuring the best again", round * best.size() + i + 1, final_rounds * best.size());
    }
  }
  for (std::size_t i = 0; i < best.size(); ++i) {
    std::ranges::sort(times[i]);
    best[i]->ms = times[i][final_rounds / 2];
  }
  const auto winner = std::ranges::min_element(best, {}, [](const Candidate* candidate) { return *candidate->ms; });
  if (winner != best.end()) winners_.push_back(**winner);
}

const Candidate* fastest(std::span<const Candidate> candidates, LaunchSize size) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.size != size || candidate.outcome != Outcome::timed) continue;
    if (best == nullptr || *candidate.ms < *best->ms) best = &candidate;
  }
  return best;
}

const Candidate* find_candidate(std::span<const Candidate> candidates, const Config& config, LaunchSize size) {
  const auto found = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
    return candidate.size == size && config_text(candidate.config) == config_text(config);
  });
  return found == candidates.end() ? nullptr : &*found;
}

bool beats(const Candidate& best, const Candidate* untuned) {
  return untuned == nullptr || !untuned->ms || *best.ms < (1 - noise) * *untuned->ms;
}

}  // namespace wkvc
