// wkvc tune: the fastest configuration that is right, for this GPU, into a lockfile.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "autotune/lockfile/config_json.h"
#include "autotune/lockfile/lockfile.h"
#include "autotune/report/html_report.h"
#include "autotune/report/shape_report.h"
#include "autotune/search/space.h"
#include "autotune/search/task.h"
#include "autotune/search/tuner.h"
#include "checking/execute.h"
#include "checking/output.h"
#include "checking/streams.h"
#include "checking/subject.h"
#include "checking/timing.h"
#include "checking/traffic.h"
#include "dsl/registry.h"
#include "runtime/base/files.h"
#include "runtime/error.h"
#include "runtime/launch/measure.h"
#include "runtime/manifest/joint_manifest.h"
#include "tools/commands/commands.h"

namespace wkvc {
namespace {

struct Options {
  SubjectOptions subject;
  ConfigOptions config;
  std::vector<std::string> shapes;
  std::string budget = "60s", output = "wkvc.lock.json";
  std::optional<std::string> report, seed, revalidate;
  std::optional<double> saved_bytes;
};

double seconds_from(const std::string& text) {
  std::size_t end = 0;
  double value = -1;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  const double scale = unit == "s" || unit.empty() ? 1 : unit == "m" || unit == "min" ? 60 : 0;
  if (end == 0 || scale == 0 || !(value > 0) || value * scale > 86400) {
    user_error("--budget {}: expected a time from above 0 to a day, such as 60s or 5min", text);
  }
  return value * scale;
}

// Each size once, however often it was given.
std::vector<LaunchSize> sizes_from(const std::vector<std::string>& shapes) {
  if (shapes.empty()) user_error("no shape to tune for: give --shapes B,T,H");
  std::vector<LaunchSize> sizes;
  for (const std::string& shape : shapes) {
    const LaunchSize size = parse_shape(shape, 1, "--shapes");
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  }
  return sizes;
}

// 0: as the search has it where nothing is said.
double saved_bytes_from(const std::optional<double>& given) {
  if (given && !(std::isfinite(*given) && *given > 0)) {
    user_error("--saved-bytes {}: expected a number of bytes above 0, such as 256", *given);
  }
  return given.value_or(0);
}

std::string journal_of(const std::string& lockfile) { return lockfile + ".journal"; }

// Whether both are names of one file, which need not be there yet.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto full = [&](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  };
  return full(a) == full(b);
}

constexpr std::string_view lockfiles = "a lockfile is read, changed and kept beside its journal";

// Before anything starts: nothing that is written replaces anything else that the command reads or writes.
void expect_outputs(const Options& options) {
  expect_file("--output", options.output, lockfiles);
  expect_output(options.output, {options.subject.source});
  if (!options.report) return;
  expect_file("--report", *options.report, "the standard output has the findings, and a page is a file");
  const std::string& report = *options.report;
  expect_writable(report);
  const auto expect_other = [&](const std::string& path, std::string_view what) {
    if (same_file(report, path)) user_error("--report {}: that is {}, too: give it a name of its own", report, what);
  };
  expect_other(options.output, "where the lockfile is written");
  expect_other(journal_of(options.output), "where the journal of an interrupted run is written");
  if (options.subject.source) expect_other(*options.subject.source, "the file that is read");
}

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
  ~ProgressLine() {
    if (shown_) fmt::print(stderr, "\r{:78}\r", "");
  }

 private:
  bool shown_ = false;
};

// Tensors of every size in turn, made when they are first needed.
class Stopwatch {
 public:
  Stopwatch(rec::RecurrenceOp recurrence, Manifest manifest)
      : device_(Device::current()), recurrence_(recurrence), manifest_(std::move(manifest)) {}

  double ms(const Program& program, LaunchSize size, int repetitions) {
    return tensors(size).median_ms(program, program, /*warmups=*/3, repetitions);
  }

 private:
  struct Entry {
    LaunchSize size;
    TimedTensors tensors;
  };

  const TimedTensors& tensors(LaunchSize size) {
    for (const Entry& entry : entries_) {
      if (entry.size == size) return entry.tensors;
    }
    return entries_.emplace_back(Entry{size, {device_, recurrence_, manifest_, size}}).tensors;
  }

  Device device_;
  rec::RecurrenceOp recurrence_;
  Manifest manifest_;
  std::list<Entry> entries_;
};

void print_findings(std::span<const Candidate> candidates, LaunchSize size) {
  const auto count = [&](Outcome outcome) {
    return std::ranges::count_if(
        candidates, [&](const Candidate& candidate) { return candidate.size == size && candidate.outcome == outcome; });
  };
  print("shape {}: {} measured, {} rejected, {} skipped\n", text_of(size), count(Outcome::timed),
        count(Outcome::rejected), count(Outcome::skipped));
  const Candidate* const best = fastest(candidates, size);
  const Candidate* const guess = likeliest(candidates, size);
  if (best != nullptr) print("  fastest       {:.4f} ms   {}\n", *best->ms, config_label(best->config));
  if (guess == nullptr) return;
  print("  model's pick  {}   {}\n", guess->ms ? fmt::format("{:.4f} ms", *guess->ms) : "not measured",
        config_label(guess->config));
  if (best != nullptr && guess->ms)
    print("  the pick is {:.1f} % from the fastest\n", 100 * (*guess->ms / *best->ms - 1));
}

// With time left to measure what is compiled.
std::vector<Trial> compiled(const TuningTask& task, double budget, ProgressLine& line) {
  constexpr double share = 0.6;
  const auto begin = Tuner::Clock::now();
  return compile_all(task.source(), task.space(), std::thread::hardware_concurrency(), [&](std::size_t done) {
    const double spent = std::chrono::duration<double>(Tuner::Clock::now() - begin).count();
    line.show({"compiling", done, task.space().size(), std::max(0.0, budget - spent)});
    return spent < share * budget;
  });
}

// A trial with kernels.
const Trial& any_of(const std::vector<Trial>& trials) {
  const auto found = std::ranges::find(trials, std::string(), &Trial::fault);
  if (found != trials.end()) return *found;
  user_error("no configuration has kernels; the first one: {}",
             trials.empty() ? "none was tried" : trials.front().fault);
}

// Saved states and segments differ, so bytes do, too.
std::int64_t bytes_of(const std::vector<Trial>& trials, const Config& config, LaunchSize size) {
  const auto found =
      std::ranges::find(trials, config_text(config), [](const Trial& trial) { return config_text(trial.config); });
  return bytes_moved(manifests_from(found->text), size);
}

std::size_t measured_in(std::span<const Candidate> candidates) {
  return static_cast<std::size_t>(std::ranges::count(candidates, Outcome::timed, &Candidate::outcome));
}

// What became of each size, with the time of a copy of what the winner moves where there is a GPU.
std::vector<ShapeReport> reports_of(const TuningTask& task, const std::vector<Candidate>& candidates, Target target,
                                    const std::vector<Trial>& trials) {
  std::vector<ShapeReport> reports;
  for (const LaunchSize& size : task.sizes()) {
    ShapeReport& report = reports.emplace_back();
    report.shape_class = task.shape_class(size);
    std::ranges::copy_if(candidates, std::back_inserter(report.candidates),
                         [&](const Candidate& candidate) { return candidate.size == size; });
    if (const Candidate* best = fastest(candidates, size)) report.winner = best->config;
    if (const Candidate* guess = likeliest(candidates, size)) report.model_pick = guess->config;
    if (report.winner && target == Target::cuda)
      report.copy_ms = copy_bytes_ms(Device::current(), bytes_of(trials, *report.winner, size));
  }
  return reports;
}

// Whether each size has a winner; says which one has none.
bool all_won(const std::vector<ShapeReport>& reports) {
  bool all = true;
  for (const ShapeReport& report : reports) {
    if (winner_of(report) != nullptr) continue;
    all = false;
    complain(fmt::format("shape {}: no configuration was measured that is right: the lockfile has none for it",
                         text_of(report.shape_class.size))
                 .c_str());
  }
  return all;
}

// The winners, into the lockfile.
void lock(const std::string& path, const TuningTask& task, const Gpu& gpu, const std::vector<ShapeReport>& reports) {
  Lockfile lockfile;
  if (std::filesystem::exists(path)) lockfile = Lockfile::read(path);
  for (const ShapeReport& report : reports) {
    if (const Candidate* best = winner_of(report)) {
      lockfile.merge(task.entry(*best, gpu, report.copy_ms, measured_in(report.candidates)));
    }
  }
  lockfile.write(path);
}

void write_report(const std::string& path, const TuningTask& task, const Gpu& gpu,
                  const std::vector<ShapeReport>& reports, std::size_t tried) {
  const ShapeClass& shape_class = reports.front().shape_class;
  const std::string page =
      html_report({shape_class.op + " " + shape_class.pass, gpu, task.evidence(gpu, tried)}, reports);
  const std::string_view piece = page;
  write_file_atomically(path, {&piece, 1});
}

GpuFacts facts_of(const Gpu& gpu) {
  GpuFacts facts;
  facts.sm_count = gpu.sm_count;
  return facts;
}

struct Tuned {
  std::vector<ShapeReport> reports;  // of every size
  std::size_t tried = 0;
};

// Compiles, validates and times. `journal`: where a run that is interrupted goes on; empty: nowhere.
Tuned tuned(const TuningTask& task, Target target, const Gpu& gpu, double budget,
            const std::filesystem::path& journal) {
  const auto begin = Tuner::Clock::now();
  ProgressLine line;
  const std::vector<Trial> trials = compiled(task, budget, line);
  const Trial& any = any_of(trials);
  const Validation validation = task.validation(any);
  std::optional<Journal> finished;
  if (!journal.empty()) finished.emplace(journal, task.run_on(gpu));

  Tuner::Setup setup{.target = target, .gpu = facts_of(gpu), .timer = {}, .budget = {}, .progress = {}};
  setup.progress = [&](const TunerProgress& progress) { line.show(progress); };
  setup.budget = std::chrono::duration_cast<Tuner::Clock::duration>(std::chrono::duration<double>(budget)) -
                 (Tuner::Clock::now() - begin);
  std::optional<Stopwatch> stopwatch;
  if (target == Target::cuda) {
    stopwatch.emplace(task.recurrence(), joint_manifest(manifests_from(any.text)));
    setup.timer = [&](const Program& program, LaunchSize size, int repetitions) {
      return stopwatch->ms(program, size, repetitions);
    };
  }
  Tuner tuner(setup, validation, task.passes(), finished ? &*finished : nullptr);
  const std::vector<Candidate> candidates = tuner.run(trials, task.sizes());
  return {reports_of(task, candidates, target, trials), measured_in(candidates)};
}

int tune(const Options& options) {
  const double budget = seconds_from(options.budget);
  const std::vector<LaunchSize> sizes = sizes_from(options.shapes);
  const double saved_bytes = saved_bytes_from(options.saved_bytes);
  expect_outputs(options);
  const Target target = target_from(std::nullopt);
  const Subject subject = subject_from(options.subject, options.config);
  if (is_token_kernel(subject.source, subject.config))
    user_error(
        "--chunk 1: a kernel of single tokens has one schedule, so that there is nothing to tune; give a multiple "
        "of 16, or leave --chunk out");
  const Gpu gpu = gpu_here(target, subject.config.arch);
  const TuningTask task({.source = subject.source,
                         .config = subject.config,
                         .alone = false,
                         .sizes = sizes,
                         .seed = parse_seed(options.seed.value_or("0")),
                         .limits = {.sizes = sizes, .sm_count = gpu.sm_count, .saved_bytes = saved_bytes}});
  const std::filesystem::path journal = target == Target::cuda ? journal_of(options.output) : "";
  const Tuned found = tuned(task, target, gpu, budget, journal);
  for (const ShapeReport& report : found.reports) print_findings(report.candidates, report.shape_class.size);
  if (options.report) write_report(*options.report, task, gpu, found.reports, found.tried);
  if (target == Target::host) {
    complain(("there is no GPU here that the kernels are for: nothing was measured, and " + options.output +
              " was not written; run tune where the GPU is")
                 .c_str());
    return exit_check_failed;
  }
  lock(options.output, task, gpu, found.reports);
  std::filesystem::remove(journal);
  return all_won(found.reports) ? exit_passed : exit_check_failed;
}

// The task of measuring one entry again.
TuningTask task_of(const LockEntry& entry) {
  Config config = entry.config;
  config.key_dim = entry.shape_class.key_dim;
  config.value_dim = entry.shape_class.value_dim;
  config.io = name_of(entry.shape_class.io);
  config.mma = entry.shape_class.accuracy;
  config.pass = entry.shape_class.pass;
  config.arch = entry.gpu.arch;
  return TuningTask({.source = rec_source(Registry::known().find(entry.shape_class.op), config),
                     .config = config,
                     .alone = true,
                     .sizes = {entry.shape_class.size},
                     .seed = entry.evidence.seed,
                     .limits = {}});
}

// Measures every entry of this GPU again, whatever its seal says, and drops those that are not valid.
int revalidate(const std::string& path) {
  expect_file("--revalidate", path, "a lockfile is read and written again");
  expect_gpu("tune --revalidate");
  Lockfile lockfile = Lockfile::read(path, Seals::ignored);
  const std::vector<LockEntry> entries(lockfile.entries().begin(), lockfile.entries().end());
  bool all_valid = true;
  for (const LockEntry& entry : entries) {
    const Gpu gpu = gpu_here(Target::cuda, entry.gpu.arch);
    if (gpu.name != entry.gpu.name) {
      print("{}: of another GPU, left as it is\n", subject_text(entry));
      continue;
    }
    const TuningTask task = task_of(entry);
    const std::vector<ShapeReport> reports = tuned(task, Target::cuda, gpu, 3600, {}).reports;
    lockfile.remove(entry);
    if (const Candidate* valid = winner_of(reports.front())) {
      lockfile.merge(task.entry(*valid, gpu, reports.front().copy_ms, 1));
      print("{}: valid, {:.4f} ms\n", subject_text(entry), *valid->ms);
    } else {
      print("{}: taken out: {}\n", subject_text(entry), reports.front().candidates.front().reason);
      all_valid = false;
    }
  }
  lockfile.write(path);
  return all_valid ? exit_passed : exit_check_failed;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("tune", "The fastest configuration that is right, into a lockfile");
  const auto options = std::make_shared<Options>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--shapes", options->shapes, "Each batch, tokens, heads")->type_name("B,T,H");
  command->add_option("--budget", options->budget, "Time that it may take (60s)")->type_name("TIME");
  command->add_option("-o,--output", options->output, "The lockfile, new or to be added to (wkvc.lock.json)");
  command->add_option("--report", options->report, "A page that shows why the winner won")->type_name("FILE.html");
  command->add_option("--saved-bytes", options->saved_bytes,
                      "Memory for saved states, bytes a token and head (as every 64 tokens in f32 take)");
  command->add_option("--seed", options->seed, "Of the inputs that kernels are validated on (0)")->type_name("N");
  command->add_option("--revalidate", options->revalidate, "Measure the entries of this lockfile again instead")
      ->type_name("FILE");
  options->config.add_to(*command);
  command->callback([&action, options] {
    action = [options] { return options->revalidate ? revalidate(*options->revalidate) : tune(*options); };
  });
}

}  // namespace wkvc
