#include "tools/commands/tuning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <list>
#include <thread>

#include "autotune/lockfile/config_json.h"
#include "checking/output.h"
#include "checking/timing.h"
#include "checking/traffic.h"
#include "checking/values/magnitudes.h"
#include "runtime/error.h"
#include "runtime/launch/measure.h"
#include "runtime/manifest/joint_manifest.h"

namespace wkvc {
namespace {

// One line that is written over, where a person looks at it.
class ProgressLine {
 public:
  void show(const TunerProgress& progress) {
    if (!isatty(STDERR_FILENO)) return;
    const std::string line =
        fmt::format("{} {} of {}, {:.0f} s left", progress.doing, progress.done, progress.total, progress.seconds_left);
    fmt::print(stderr, "\r{:<78}", line);
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_) fmt::print(stderr, "\r{:78}\r", "");
    shown_ = false;
  }
  ~ProgressLine() { clear(); }

 private:
  bool shown_ = false;
};

// Times programs on tensors of every size in turn, which are made when they are first needed.
class Stopwatch {
 public:
  Stopwatch(const TuningTask& task, std::optional<std::string> input)
      : device_(Device::current()), recurrence_(task.recurrence()), input_(std::move(input)) {}

  Timing time(const Program& program, LaunchSize size, int repetitions) {
    const auto known = std::ranges::find(entries_, size, &Entry::size);
    if (known != entries_.end()) return known->tensors.timing(program, repetitions);
    const TimingData data = timing_data(recurrence_, program.manifest(), size, input_);
    const Entry& entry = entries_.emplace_back(Entry{size, {device_, data, program.manifest(), size}});
    Timing timing = entry.tensors.timing(program, repetitions);
    print("shape {}: inputs {}\n", text_of(size), data.origin);
    if (refusing_many(timing.refusals) != nullptr)
      print("{}\n", warning_text(timing.refusals, magnitudes_text(recurrence_, program.manifest(), data.values)));
    return timing;
  }

 private:
  struct Entry {
    LaunchSize size;
    TimedTensors tensors;
  };

  Device device_;
  rec::RecurrenceOp recurrence_;
  std::optional<std::string> input_;
  std::list<Entry> entries_;
};

// Saved states and segments differ, so bytes do, too.
std::int64_t bytes_of(std::span<const Trial> trials, const Config& config, LaunchSize size) {
  const auto found =
      std::ranges::find(trials, config_text(config), [](const Trial& trial) { return config_text(trial.config); });
  return bytes_moved(manifests_from(found->text), size);
}

std::size_t measured_in(std::span<const Candidate> candidates) {
  return static_cast<std::size_t>(std::ranges::count(candidates, Outcome::timed, &Candidate::outcome));
}

// What became of each size, with the time of a copy of what the winner moves where there is a GPU.
std::vector<ShapeReport> reports_of(const TuningTask& task, const Tuner& tuner,
                                    const std::vector<Candidate>& candidates, Target target) {
  std::vector<ShapeReport> reports;
  for (const LaunchSize& size : task.sizes()) {
    ShapeReport& report = reports.emplace_back();
    report.shape_class = task.shape_class(size);
    std::ranges::copy_if(candidates, std::back_inserter(report.candidates),
                         [&](const Candidate& candidate) { return candidate.size == size; });
    if (const Candidate* best = tuner.winner(size)) report.winner = best->config;
    report.untuned = task.untuned_at(size);
    if (report.winner && target == Target::cuda)
      report.copy_ms = copy_bytes_ms(Device::current(), bytes_of(tuner.trials(), *report.winner, size));
  }
  return reports;
}

// Of what calls take, as soon as it is known.
void print_untuned(const Candidate& candidate) {
  print("shape {}: default {}   {}\n", text_of(candidate.size),
        candidate.ms ? fmt::format("{:.4f} ms", *candidate.ms) : candidate.reason, config_label(candidate.config));
  std::fflush(stdout);
}

std::string time_of(const Candidate& candidate) {
  if (candidate.ms) return fmt::format("{:.4f} ms", *candidate.ms);
  if (candidate.outcome == Outcome::rejected || !candidate.predicted_ms) return candidate.reason;
  return fmt::format("{:.4f} ms by the model", *candidate.predicted_ms);
}

void print_findings(const ShapeReport& report, std::size_t untried) {
  const auto count = [&](Outcome outcome) {
    return std::ranges::count(report.candidates, outcome, &Candidate::outcome);
  };
  print("shape {}: {} measured, {} rejected, {} skipped, {} not reached\n", text_of(report.shape_class.size),
        count(Outcome::timed), count(Outcome::rejected), count(Outcome::skipped), untried);
  const Candidate* const best = winner_of(report);
  const Candidate* const untuned = untuned_of(report);
  if (untuned != nullptr) print("  default       {}   {}\n", time_of(*untuned), config_label(untuned->config));
  if (best == nullptr) return;
  print("  fastest       {}   {}\n", time_of(*best), config_label(best->config));
  if (!is_worth_an_entry(report))
    print("  nothing is faster than the default by more than noise: calls take it without an entry\n");
  else if (untuned != nullptr && untuned->ms)
    print("  the default takes {:.1f} % longer\n", 100 * (*untuned->ms / *best->ms - 1));
}

}  // namespace

Tuned tuned(const TuningTask& task, const TuningPlace& place) {
  ProgressLine line;
  std::optional<Journal> finished;
  if (!place.journal.empty()) finished.emplace(place.journal, task.run());
  Tuner::Setup setup{.target = place.target,
                     .gpu = {},
                     .timer = {},
                     .drawn = !place.input,
                     .compile = [&](const Config& config) { return tried(task.source(), config); },
                     .threads = std::thread::hardware_concurrency(),
                     .end = place.end};
  setup.gpu.sm_count = place.gpu.sm_count;
  setup.progress = [&](const TunerProgress& progress) { line.show(progress); };
  setup.found = [&](const Candidate& candidate) {
    if (place.target != Target::cuda || config_text(candidate.config) != config_text(task.untuned_at(candidate.size)))
      return;
    line.clear();
    print_untuned(candidate);
  };
  std::optional<Stopwatch> stopwatch;
  if (place.target == Target::cuda) {
    stopwatch.emplace(task, place.input);
    setup.timer = [&](const Program& program, LaunchSize size, int repetitions) {
      return stopwatch->time(program, size, repetitions);
    };
  }
  Tuner tuner(setup, task, finished ? &*finished : nullptr);
  const std::vector<Candidate> candidates = tuner.run();
  const auto has_kernels = [](const Trial& trial) { return trial.fault.empty(); };
  if (std::ranges::none_of(tuner.trials(), has_kernels))
    user_error("no configuration has kernels; the first one: {}", tuner.trials().front().fault);
  return {reports_of(task, tuner, candidates, place.target), measured_in(candidates), tuner.untried()};
}

void print_findings(const Tuned& found) {
  for (const ShapeReport& report : found.reports) print_findings(report, found.untried);
}

bool is_worth_an_entry(const ShapeReport& report) {
  const Candidate* const best = winner_of(report);
  return best != nullptr && beats(*best, untuned_of(report));
}

}  // namespace wkvc
