#include "autotune/report/shape_report.h"

#include <algorithm>

#include "autotune/lockfile/config_json.h"
#include "autotune/report/plot.h"

namespace wkvc {
namespace {

bool has_config(const std::optional<Config>& config, const Candidate& candidate) {
  return config && config_text(*config) == config_text(candidate.config);
}

template <class Keep>
std::vector<const Candidate*> those(const ShapeReport& report, Keep keep) {
  std::vector<const Candidate*> kept;
  for (const Candidate& candidate : report.candidates) {
    if (keep(candidate)) kept.push_back(&candidate);
  }
  return kept;
}

}  // namespace

bool is_winner(const ShapeReport& report, const Candidate& candidate) { return has_config(report.winner, candidate); }

bool is_untuned(const ShapeReport& report, const Candidate& candidate) { return has_config(report.untuned, candidate); }

const Candidate* winner_of(const ShapeReport& report) {
  const auto found = those(report, [&](const Candidate& it) { return is_winner(report, it); });
  return found.empty() ? nullptr : found.front();
}

const Candidate* untuned_of(const ShapeReport& report) {
  const auto found = those(report, [&](const Candidate& it) { return is_untuned(report, it); });
  return found.empty() ? nullptr : found.front();
}

std::vector<const Candidate*> timed(const ShapeReport& report) {
  auto found = those(report, [](const Candidate& it) { return it.outcome == Outcome::timed && it.ms; });
  std::ranges::stable_sort(found, {}, [](const Candidate* it) { return *it->ms; });
  return found;
}

std::vector<const Candidate*> not_timed(const ShapeReport& report) {
  auto found = those(report, [](const Candidate& it) { return it.outcome != Outcome::timed; });
  std::ranges::stable_sort(found, {}, &Candidate::outcome);
  return found;
}

std::string marked_label(const ShapeReport& report, const Candidate& candidate) {
  std::string marks;
  if (is_winner(report, candidate)) marks += "★";
  if (is_untuned(report, candidate)) marks += "◆";
  return marks + (marks.empty() ? "" : " ") + config_label(candidate.config);
}

std::string facts_of(const Candidate& candidate) {
  std::string text = fmt::format("{}: {}", config_label(candidate.config), name_of(candidate.outcome));
  if (candidate.ms) text += fmt::format("\n{} ms", time_text(*candidate.ms));
  if (candidate.predicted_ms) text += fmt::format("\npredicted {} ms", time_text(*candidate.predicted_ms));
  for (const auto& [result, accuracy] : candidate.errors) {
    text += fmt::format("\nerror of {} {}, bound {}", result, number_text(accuracy.error), number_text(accuracy.bound));
  }
  if (candidate.use) {
    text += fmt::format("\n{:.1f} KiB of shared memory, {} registers, {} bytes spilled, {} blocks an SM",
                        static_cast<double>(candidate.use->shared_bytes) / 1024, candidate.use->registers,
                        candidate.use->spill_bytes, candidate.use->blocks_per_sm);
  }
  if (!candidate.reason.empty()) text += "\n" + candidate.reason;
  return text;
}

}  // namespace wkvc
