#include <algorithm>
#include <cmath>
#include <set>

#include "autotune/report/charts.h"
#include "autotune/report/plot.h"

namespace wkvc {
namespace {

constexpr Frame frame{90, 40, 800, 380};

// What can be placed: with a time and with errors that are finite and, on any scale, above 0.
std::vector<const Candidate*> placeable(const ShapeReport& report) {
  std::vector<const Candidate*> found;
  for (const Candidate& it : report.candidates) {
    if (!it.ms || it.errors.empty()) continue;
    const double error = worst(it.errors)->second.error;
    if (std::isfinite(error) && error > 0) found.push_back(&it);
  }
  return found;
}

const Accuracy& shown(const Candidate& candidate) { return worst(candidate.errors)->second; }

const char* classes(const ShapeReport& report, const Candidate& candidate) {
  if (candidate.outcome == Outcome::rejected) return "rejected";
  if (is_winner(report, candidate)) return "winner";
  return is_untuned(report, candidate) ? "default" : "plain";
}

void draw_bounds(Svg& svg, const std::set<double>& bounds, const Scale& errors) {
  double last = frame.bottom + 100;
  for (const double bound : bounds) {
    const double y = errors.at(bound);
    svg.line(frame.left, y, frame.right, y, "bound");
    last = std::min(y + 4, last - 15);  // labels do not overlap, however near the lines are
    svg.text(frame.right + 8, last, Anchor::start, "tick", "bound " + number_text(bound));
  }
}

void note(Svg& svg, double x, double y, bool above, const std::string& text) {
  const Anchor anchor = x < (frame.left + frame.right) / 2 ? Anchor::start : Anchor::end;
  svg.text(x, above ? y - 11 : y + 21, anchor, "note halo", text);
}

// Short: longer names would cover other marks. The configuration is in the mark's title.
const char* name_of_mark(const ShapeReport& report, const Candidate& candidate) {
  if (!is_winner(report, candidate)) return "◆ default";
  return is_untuned(report, candidate) ? "★◆ winner and default" : "★ winner";
}

// Of the winner and the default, the upper one's name is above it and the lower one's below.
void draw_notes(Svg& svg, const ShapeReport& report, const std::vector<const Candidate*>& candidates,
                const Scale& times, const Scale& errors) {
  std::vector<const Candidate*> named;  // at most two
  for (const Candidate* it : candidates) {
    if (is_winner(report, *it) || is_untuned(report, *it)) named.push_back(it);
  }
  std::ranges::stable_sort(named, std::greater(), [](const Candidate* it) { return shown(*it).error; });
  bool above = true;
  for (const Candidate* it : named) {
    note(svg, times.at(*it->ms), errors.at(shown(*it).error), above, name_of_mark(report, *it));
    above = false;
  }
}

}  // namespace

std::string error_chart(const ShapeReport& report) {
  const std::vector<const Candidate*> candidates = placeable(report);
  if (candidates.empty()) return "";
  std::vector<double> ms, values;
  std::set<double> bounds;
  for (const Candidate* it : candidates) {
    ms.push_back(*it->ms);
    values.push_back(shown(*it).error);
    bounds.insert(shown(*it).bound);
  }
  values.insert(values.end(), bounds.begin(), bounds.end());
  const Scale times = scale_for(ms, frame.left, frame.right), errors = scale_for(values, frame.bottom, frame.top);
  Svg svg(chart_width, frame.bottom + 46, "Error against time, with the bounds of errors");
  draw_x_axis(svg, frame, times, "median time of a launch, ms");
  draw_y_axis(svg, frame, errors, "relative error of the result nearest to its bound");
  draw_bounds(svg, bounds, errors);
  for (const Candidate* it : candidates) {
    svg.dot(times.at(*it->ms), errors.at(shown(*it).error), is_winner(report, *it) ? 7 : 5, classes(report, *it),
            facts_of(*it));
  }
  draw_notes(svg, report, candidates, times, errors);
  return svg.finished();
}

}  // namespace wkvc
