// How often `wkvc check` fails right kernels: rows of results beside their bounds, on real and random data.
//
//   build/bin/false_alarms --rows 10000000 --device cpu --data tests/data/rwkv7_layer1_head0.safetensors
//
// Rounds go through all settings; a round takes one case of each. Prints each alarm, and how many rows have which part
// of their bound. The exit status is 1 where there was an alarm.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <numeric>

#include "bench/false_alarm_cases.h"
#include "bench/recurrences.h"
#include "checking/output.h"
#include "checking/reference/bounds.h"
#include "checking/reference/comparison.h"
#include "dsl/registry.h"
#include "runtime/error.h"

namespace {

using namespace wkvc;
using namespace wkvc::bench;

struct Options {
  double rows = 1e7, seconds = 1e9;
  std::uint64_t seed = 0;
  std::size_t every = 1;
  std::string device = "cpu", only;
  std::vector<std::string> data;
  bool drawn = false;
};

// Errors by what part of their bound they are.
class Counts {
 public:
  void add(const RowError& error) {
    const double part = error.excess();
    worst_ = std::max(worst_, part);
    ++tenths_[static_cast<std::size_t>(std::min(part * 10, 20.0))];
  }
  void add(const Counts& other) {
    worst_ = std::max(worst_, other.worst_);
    for (std::size_t i = 0; i < tenths_.size(); ++i) tenths_[i] += other.tenths_[i];
  }
  std::int64_t count() const { return std::accumulate(tenths_.begin(), tenths_.end(), std::int64_t{0}); }
  std::int64_t alarms() const { return std::accumulate(tenths_.begin() + 10, tenths_.end(), std::int64_t{0}); }
  std::string text() const {
    return fmt::format("{:>9}, {} alarms, the worst at {:.3f} of its bound; by tenths of bounds: {}", count(), alarms(),
                       worst_, fmt::join(tenths_, " "));
  }

 private:
  double worst_ = 0;
  std::array<std::int64_t, 21> tenths_{};  // the last: twice the bound and more
};

// A setting with its kernels and recordings, and what was counted.
struct Counted {
  Setting setting;
  std::unique_ptr<Kernels> kernels;
  std::vector<Case> recordings;
  Counts rows, norms;
};

// Compares the results of one case with the reference. `what` says which case that is.
void judge(Counted& of, Case values, const Options& options, const std::string& what) {
  const Runnable& runnable = of.kernels->runnable();
  of.kernels->run(values);
  const Reference reference(of.kernels->recurrence(), runnable, values);
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    if (!gives(runnable.passes, spec.role)) continue;
    const double bound = options.drawn ? 1e-12 : bound_for(runnable.manifest, spec);
    const ResultError found =
        result_error(spec.name, values.tensors.at(spec.name), reference.of(spec), bound, reference, runnable, spec);
    for (const RowError& row : found.rows) of.rows.add(row);
    of.norms.add({found.error, found.bound});
    if (found.passed()) continue;
    print("ALARM {}, {}: norm of {} {:.2e}, allowed {:.2e}; {}: {:.2e}, allowed {:.2e}\n", of.setting.text(), what,
          spec.name, found.error, found.bound, text_of(found.worst->place), found.worst->error, found.worst->bound);
  }
}

std::vector<Counted> all_counted(const Options& options) {
  std::vector<Counted> all;
  const std::vector<Setting> settings = all_settings();
  for (std::size_t i = 0; i < settings.size(); i += options.every) {
    if (settings[i].text().find(options.only) == std::string::npos) continue;
    Counted& of = all.emplace_back(settings[i], std::make_unique<Kernels>(settings[i], target_from(options.device)));
    for (const std::string& path : options.data)
      if (auto recorded = of.kernels->recorded(path)) of.recordings.push_back(std::move(*recorded));
  }
  return all;
}

// Random data, and windows of each recording, in turn.
void go_round(std::vector<Counted>& all, int round, const Options& options, Random& random) {
  for (Counted& of : all) {
    const auto at = static_cast<std::size_t>(round) % (of.recordings.size() + 1);
    Case values = at == 0 ? of.kernels->random_case(random) : of.kernels->recorded_case(of.recordings[at - 1], random);
    judge(of, std::move(values), options, fmt::format("round {}", round));
  }
}

int count_alarms(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::vector<Counted> all = all_counted(options);
  Random random(options.seed);
  Counts rows, norms;
  for (int round = 0; static_cast<double>(rows.count()) < options.rows && elapsed() < options.seconds; ++round) {
    go_round(all, round, options, random);
    rows = norms = {};
    for (const Counted& of : all) {
      rows.add(of.rows);
      norms.add(of.norms);
    }
  }
  for (const Counted& of : all)
    print("{}\n  rows  {}\n  norms {}\n", of.setting.text(), of.rows.text(), of.norms.text());
  print("all, {:.0f} s\n  rows  {}\n  norms {}\n", elapsed(), rows.text(), norms.text());
  return rows.alarms() + norms.alarms() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("How often wkvc check fails right kernels");
  Options options;
  app.add_option("--rows", options.rows, "Rows of results (1e7)");
  app.add_option("--seconds", options.seconds, "Ends after the round in which so much time is over");
  app.add_option("--seed", options.seed, "Of inputs (0)");
  app.add_option("--every", options.every, "Takes each so many of the settings (1)")->check(CLI::PositiveNumber);
  app.add_option("--only", options.only, "Takes settings whose text has this part");
  app.add_option("--device", options.device, "cpu or cuda (cpu)");
  app.add_option("--data", options.data, "Recorded activations of rwkv7 with heads of 64")->check(CLI::ExistingFile);
  app.add_flag("--drawn", options.drawn, "Compares every row with what rounding may cost, not with the first bound");
  CLI11_PARSE(app, argc, argv);
  try {
    for (const auto recurrence : {kda_gate5, unnamed}) Registry::known().add(recurrence());
    return count_alarms(options);
  } catch (const std::exception& error) {
    complain(error.what());
    return 2;
  }
}
