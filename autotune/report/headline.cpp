#include "autotune/report/headline.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "autotune/lockfile/config_json.h"
#include "autotune/report/plot.h"

namespace wkvc {
namespace {

std::string longer(double ms, double than) { return fmt::format("{:.1f} % longer", 100 * (ms / than - 1)); }

std::string counts(const ShapeReport& report) {
  const auto count = [&](Outcome outcome) {
    return std::ranges::count(report.candidates, outcome, &Candidate::outcome);
  };
  return fmt::format("Of {} candidates {} were timed, {} rejected and {} skipped.", report.candidates.size(),
                     count(Outcome::timed), count(Outcome::rejected), count(Outcome::skipped));
}

// What is left to go by where nothing was timed.
std::string by_the_model(const ShapeReport& report) {
  const Candidate* pick = untuned_of(report);
  if (pick == nullptr || !pick->predicted_ms || !timed(report).empty()) return "";
  return fmt::format(" The default is {}, which the model expects to take {} ms.", config_label(pick->config),
                     time_text(*pick->predicted_ms));
}

std::string time_of(const ShapeReport& report, const Candidate& winner) {
  std::string text = fmt::format("{} is the fastest with {} ms", config_label(winner.config), time_text(*winner.ms));
  if (report.copy_ms > 0) {
    text += fmt::format(", {:.2f} times as long as a copy of as many bytes ({} ms)", *winner.ms / report.copy_ms,
                        time_text(report.copy_ms));
  }
  return text + ".";
}

// What the winner has that another lacks, as far as it may explain a difference in time.
std::string advantages(const KernelUse& winner, const KernelUse& other) {
  std::vector<std::string> found;
  if (winner.blocks_per_sm != other.blocks_per_sm) {
    found.push_back(fmt::format("{} blocks an SM instead of {}", winner.blocks_per_sm, other.blocks_per_sm));
  }
  if (winner.spill_bytes != other.spill_bytes) {
    found.push_back(fmt::format("{} bytes spilled instead of {}", winner.spill_bytes, other.spill_bytes));
  }
  if (winner.registers != other.registers) {
    found.push_back(fmt::format("{} registers instead of {}", winner.registers, other.registers));
  }
  if (winner.shared_bytes != other.shared_bytes) {
    found.push_back(fmt::format("{:.1f} KiB of shared memory instead of {:.1f}",
                                static_cast<double>(winner.shared_bytes) / 1024,
                                static_cast<double>(other.shared_bytes) / 1024));
  }
  return found.empty() ? "" : fmt::format("; the winner has {}", fmt::join(found, ", "));
}

std::string against_default(const ShapeReport& report, const Candidate& winner) {
  if (is_untuned(report, winner)) return " It is also the default.";
  const Candidate* pick = untuned_of(report);
  if (pick == nullptr) return "";
  const std::string label = config_label(pick->config);
  if (!pick->ms) return fmt::format(" The default, {}, was {}: {}.", label, name_of(pick->outcome), pick->reason);
  return fmt::format(" The default, {}, takes {} ms, {}{}.", label, time_text(*pick->ms), longer(*pick->ms, *winner.ms),
                     winner.use && pick->use ? advantages(*winner.use, *pick->use) : "");
}

// The next best that is not the default, of which enough was said.
std::string against_next(const ShapeReport& report, const Candidate& winner) {
  for (const Candidate* next : timed(report)) {
    if (next == &winner || is_untuned(report, *next)) continue;
    return fmt::format(" Next is {} with {} ms, {}{}.", config_label(next->config), time_text(*next->ms),
                       longer(*next->ms, *winner.ms),
                       winner.use && next->use ? advantages(*winner.use, *next->use) : "");
  }
  return "";
}

std::string error_of(const Candidate& winner) {
  if (winner.errors.empty()) return "";
  const auto& [result, accuracy] = *worst(winner.errors);
  return fmt::format(" Of its results {} is nearest to its bound: an error of {}, {:.0f} % of {}.", result,
                     number_text(accuracy.error), 100 * accuracy.error / accuracy.bound, number_text(accuracy.bound));
}

}  // namespace

std::string headline(const ShapeReport& report) {
  const Candidate* winner = winner_of(report);
  if (winner == nullptr || !winner->ms) {
    return "No configuration won. " + counts(report) + by_the_model(report);
  }
  return time_of(report, *winner) + against_default(report, *winner) + against_next(report, *winner) +
         error_of(*winner) + " " + counts(report);
}

}  // namespace wkvc
