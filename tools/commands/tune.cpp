// wkvc tune: the fastest configuration that is right, for this GPU, into a lockfile.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "autotune/lockfile/config_json.h"
#include "autotune/lockfile/lockfile.h"
#include "autotune/lockfile/settings.h"
#include "autotune/report/html_report.h"
#include "autotune/report/shape_report.h"
#include "autotune/search/task.h"
#include "checking/execute.h"
#include "checking/output.h"
#include "checking/streams.h"
#include "checking/subject.h"
#include "dsl/registry.h"
#include "runtime/base/decimal.h"
#include "runtime/base/files.h"
#include "runtime/base/hash.h"
#include "runtime/error.h"
#include "runtime/tensor/safetensors.h"
#include "tools/commands/commands.h"
#include "tools/commands/tuning.h"

namespace wkvc {
namespace {

struct TuneOptions {
  SubjectOptions subject;
  ConfigOptions config;
  std::vector<std::string> shapes;
  std::string budget = "60s", output = "wkvc.lock.json";
  std::optional<std::string> report, seed, revalidate, input, saved_bytes;
};

double seconds_from(const std::string& text) {
  std::string_view unit = text;
  const std::optional<double> value = take_decimal(unit);
  const double scale = unit == "s" || unit.empty() ? 1 : unit == "m" || unit == "min" ? 60 : 0;
  if (!value || scale == 0 || !(*value > 0) || *value * scale > 86400) {
    user_error("--budget {}: expected a time from above 0 to a day, such as 0.5s, 60s or 5min", text);
  }
  return *value * scale;
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
double saved_bytes_from(const std::optional<std::string>& given) {
  if (!given) return 0;
  const std::optional<double> bytes = decimal_from(*given);
  if (!bytes || *bytes <= 0) user_error("--saved-bytes {}: expected a number of bytes above 0, such as 256", *given);
  return *bytes;
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
void expect_outputs(const TuneOptions& options) {
  expect_file("--output", options.output, lockfiles);
  expect_output(options.output, {options.subject.source, options.input});
  if (!options.report) return;
  expect_file("--report", *options.report, "the standard output has the findings, and a page is a file");
  const std::string& report = *options.report;
  expect_writable(report);
  const auto expect_other = [&](const std::string& path, std::string_view what) {
    if (same_file(report, path)) user_error("--report {}: that is {}, too: give it a name of its own", report, what);
  };
  expect_other(options.output, "where the lockfile is written");
  expect_other(journal_of(options.output), "where the journal of an interrupted run is written");
  for (const auto& read : {options.subject.source, options.input})
    if (read) expect_other(*read, "the file that is read");
}

// Whether each size has a winner; says which one has none.
bool all_won(const std::vector<ShapeReport>& reports) {
  bool all = true;
  for (const ShapeReport& report : reports) {
    if (winner_of(report) != nullptr) continue;
    all = false;
    const Candidate* const untuned = untuned_of(report);
    complain(fmt::format("shape {}: no configuration has a time, so the lockfile gets no entry; the default: {}",
                         text_of(report.shape_class.size), untuned == nullptr ? "not tried" : untuned->reason)
                 .c_str());
  }
  return all;
}

Lockfile lockfile_at(const std::string& path) {
  return std::filesystem::exists(path) ? Lockfile::read(path) : Lockfile();
}

// Of one size: an entry that beats what calls take without one, or none. An entry with those same settings may stay.
void lock(Lockfile& lockfile, const TuningTask& task, const ShapeReport& report) {
  const Candidate* const best = winner_of(report);
  if (best == nullptr) return;
  const LockEntry entry = task.entry(*best, report.copy_ms, timed(report).size());
  const auto before =
      std::ranges::find_if(lockfile.entries(), [&](const LockEntry& it) { return same_subject(it, entry); });
  if (is_worth_an_entry(report)) {
    lockfile.merge(entry);
  } else if (before != lockfile.entries().end() && config_text(before->config) != config_text(*report.untuned)) {
    print("{}: taken out: it is no faster than what calls take without it\n", subject_text(*before));
    lockfile.remove(entry);
  }
}

// The winners, into the lockfile. A file that would be empty is not begun.
void lock(const std::string& path, const TuningTask& task, const std::vector<ShapeReport>& reports) {
  Lockfile lockfile = lockfile_at(path);
  for (const ShapeReport& report : reports) lock(lockfile, task, report);
  if (lockfile.entries().empty() && !std::filesystem::exists(path)) {
    print("{} was not written: it would have no entry\n", path);
    return;
  }
  lockfile.write(path);
}

void write_report(const std::string& path, const TuningTask& task, const Gpu& gpu, const Tuned& found) {
  const ShapeClass& shape_class = found.reports.front().shape_class;
  const std::string page =
      html_report({shape_class.op + " " + shape_class.pass, gpu, task.evidence(found.tried)}, found.reports);
  const std::string_view piece = page;
  write_file_atomically(path, {&piece, 1});
}

// Returns the hash of a file of tensors, empty where inputs are drawn. Throws UserError where the file is none.
std::string inputs_key(const std::optional<std::string>& file) {
  if (!file) return "";
  read_safetensors(*file, Names());
  return hex_hash(read_text(*file, "file of tensors"));
}

TuningTask task_of(const TuneOptions& options, const Subject& subject, const Gpu& gpu) {
  const std::vector<LaunchSize> sizes = sizes_from(options.shapes);
  const double saved_bytes = saved_bytes_from(options.saved_bytes);
  const Lockfile before = lockfile_at(options.output);
  return TuningTask({.source = subject.source,
                     .config = subject.config,
                     .sizes = sizes,
                     .gpu = gpu,
                     .seed = parse_seed(options.seed.value_or("0")),
                     .inputs = inputs_key(options.input),
                     .known = {before.entries().begin(), before.entries().end()},
                     .limits = {.sizes = sizes, .sm_count = gpu.sm_count, .saved_bytes = saved_bytes}});
}

Tuner::Clock::time_point end_of(double budget) {
  return Tuner::Clock::now() +
         std::chrono::duration_cast<Tuner::Clock::duration>(std::chrono::duration<double>(budget));
}

int tune(const TuneOptions& options) {
  const auto end = end_of(seconds_from(options.budget));
  expect_outputs(options);
  const Target target = target_from(std::nullopt);
  const Subject subject = subject_from(options.subject, options.config);
  if (is_token_kernel(subject.source, subject.config))
    user_error(
        "--chunk 1: a kernel of single tokens has one schedule, so that there is nothing to tune; give a multiple "
        "of 16, or leave --chunk out");
  const Gpu gpu = gpu_here(target, subject.config.arch);
  const TuningTask task = task_of(options, subject, gpu);
  const std::filesystem::path journal = target == Target::cuda ? journal_of(options.output) : "";
  const Tuned found =
      tuned(task, {.target = target, .gpu = gpu, .end = end, .input = options.input, .journal = journal});
  print_findings(found);
  if (options.report) write_report(*options.report, task, gpu, found);
  if (target == Target::host) {
    complain(("there is no GPU here that the kernels are for: nothing was measured, and " + options.output +
              " was not written; run tune where the GPU is")
                 .c_str());
    return exit_check_failed;
  }
  lock(options.output, task, found.reports);
  std::filesystem::remove(journal);
  return all_won(found.reports) ? exit_passed : exit_check_failed;
}

// The task of measuring one entry again, beside what calls take without any entry.
TuningTask task_of(LockEntry entry) {
  Config config = without_settings(entry.config);
  config.key_dim = entry.shape_class.key_dim;
  config.value_dim = entry.shape_class.value_dim;
  config.io = name_of(entry.shape_class.io);
  config.mma = entry.shape_class.accuracy;
  config.pass = entry.shape_class.pass;
  config.arch = entry.gpu.arch;
  const Source source = rec_source(Registry::known().find(entry.shape_class.op), config);
  entry.recurrence = hex_hash(source.text);
  return TuningTask({.source = source,
                     .config = config,
                     .sizes = {entry.shape_class.size},
                     .gpu = entry.gpu,
                     .seed = entry.evidence.seed,
                     .defaults = {},
                     .known = {entry},
                     .alone = true});
}

// Measures an entry again. Returns whether it stays.
bool revalidate(Lockfile& lockfile, const LockEntry& entry) {
  const TuningTask task = task_of(entry);
  const Tuned found = tuned(task, {.target = Target::cuda, .gpu = entry.gpu, .end = end_of(3600)});
  const ShapeReport& report = found.reports.front();
  const Candidate* const again = find_candidate(report.candidates, task.order().back(), entry.shape_class.size);
  lockfile.remove(entry);
  if (again != nullptr && again->ms && beats(*again, untuned_of(report))) {
    lockfile.merge(task.entry(*again, report.copy_ms, 1));
    print("{}: valid, {:.4f} ms\n", subject_text(entry), *again->ms);
    return true;
  }
  print("{}: taken out: {}\n", subject_text(entry),
        again == nullptr || again->ms ? "it is no faster than what calls take without it" : again->reason);
  return false;
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
    if (!revalidate(lockfile, entry)) all_valid = false;
  }
  lockfile.write(path);
  return all_valid ? exit_passed : exit_check_failed;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("tune", "The fastest configuration that is right, into a lockfile");
  const auto options = std::make_shared<TuneOptions>();
  options->subject.add_to(*command, /*with_source=*/true);
  command->add_option("--shapes", options->shapes, "Each batch, tokens, heads")->type_name("B,T,H");
  command->add_option("--budget", options->budget, "Time that it may take, such as 0.5s, 60s or 5min (60s)")
      ->type_name("TIME");
  command->add_option("-o,--output", options->output, "The lockfile, new or to be added to (wkvc.lock.json)");
  command->add_option("--input", options->input, std::string(timed_input_help))->type_name("FILE");
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
