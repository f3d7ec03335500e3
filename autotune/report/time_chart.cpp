#include <algorithm>

#include "autotune/report/charts.h"
#include "autotune/report/plot.h"

namespace wkvc {
namespace {

constexpr double row = 18, top = 30, bar_height = 12;
constexpr double letter = 6.6;  // width of one at this size, at most on average

// Code points, of which labels have a few that are not ASCII.
std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

double label_width(const ShapeReport& report, const std::vector<const Candidate*>& candidates) {
  std::size_t longest = 0;
  for (const Candidate* it : candidates) longest = std::max(longest, letters(marked_label(report, *it)));
  return std::min(std::max(80.0, letter * static_cast<double>(longest) + 16), 0.6 * chart_width);
}

const char* classes(const ShapeReport& report, const Candidate& candidate) {
  if (is_winner(report, candidate)) return "winner";
  return is_untuned(report, candidate) ? "default" : "plain";
}

void draw_row(Svg& svg, const ShapeReport& report, const Candidate& candidate, const Scale& scale, double y) {
  const double end = scale.at(*candidate.ms), base = y + bar_height - 2;
  const std::string name = marked_label(report, candidate);
  svg.text(scale.from - 8, base, Anchor::end, std::string("name ") + classes(report, candidate), name);
  svg.bar(scale.from, y, end - scale.from, bar_height, classes(report, candidate), facts_of(candidate));
  double text_at = end;
  if (candidate.predicted_ms) {
    const double x = scale.at(*candidate.predicted_ms);
    if (x <= scale.to) svg.line(x, y - 1, x, y + bar_height + 1, "predicted");
    if (x <= scale.to && x > end - 2 && x < end + 60) text_at = x;  // the number goes behind it
  }
  svg.text(text_at + 6, base, Anchor::start, "tick halo", time_text(*candidate.ms));
}

}  // namespace

std::string time_chart(const ShapeReport& report) {
  const std::vector<const Candidate*> candidates = timed(report);
  if (candidates.empty()) return "";
  const double left = label_width(report, candidates), right = chart_width - 60;
  const double bottom = top + row * static_cast<double>(candidates.size()) + 4;
  const Scale scale{0, std::max(*candidates.back()->ms, report.copy_ms), left, right, false};
  Svg svg(chart_width, bottom + 46, "Time by configuration, the fastest first");
  const Frame frame{left, top, right, bottom};
  draw_x_axis(svg, frame, scale, "median time of a launch, ms");
  double y = top + 4;
  for (const Candidate* candidate : candidates) {
    draw_row(svg, report, *candidate, scale, y);
    y += row;
  }
  if (report.copy_ms > 0) {
    const double x = scale.at(report.copy_ms);
    svg.line(x, top - 6, x, bottom, "bound");
    svg.text(x, top - 12, x > (left + right) / 2 ? Anchor::end : Anchor::start, "tick",
             "copy of as many bytes: " + time_text(report.copy_ms) + " ms");
  }
  return svg.finished();
}

}  // namespace wkvc
