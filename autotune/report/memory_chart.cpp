#include <algorithm>
#include <cmath>
#include <map>

#include "autotune/report/charts.h"
#include "autotune/report/plot.h"

namespace wkvc {
namespace {

constexpr double left = 90, right = 800, top = 40;
constexpr int shades = 5;

struct Mark {
  const Candidate* candidate;
  double x = 0, radius = 4;
  double offset = 0;   // from its band's middle
  int shade = shades;  // 0: among the fastest; `shades`: not timed
};

// Fifths of the timed candidates, by time; the fastest are largest.
void shade(std::vector<Mark>& marks) {
  std::vector<Mark*> by_time;
  for (Mark& mark : marks) {
    if (mark.candidate->outcome == Outcome::timed && mark.candidate->ms) by_time.push_back(&mark);
  }
  std::ranges::stable_sort(by_time, {}, [](const Mark* mark) { return *mark->candidate->ms; });
  for (std::size_t i = 0; i < by_time.size(); ++i) {
    by_time[i]->shade = static_cast<int>(i * shades / by_time.size());
    by_time[i]->radius = 8 - by_time[i]->shade;
  }
}

bool collides(const Mark& a, const Mark& b, double offset) {
  const double reach = a.radius + b.radius + 1.5;
  const double x = a.x - b.x, y = offset - b.offset;
  return x * x + y * y < reach * reach;
}

// Moves each mark up or down, as little as it takes, until it covers none of those before it.
void spread(std::vector<Mark*>& band) {
  std::ranges::stable_sort(band, {}, [](const Mark* mark) { return mark->x; });
  for (std::size_t i = 0; i < band.size(); ++i) {
    const auto is_free = [&](double offset) {
      return std::none_of(band.begin(), band.begin() + static_cast<std::ptrdiff_t>(i),
                          [&](const Mark* other) { return collides(*band[i], *other, offset); });
    };
    double step = 0;
    while (!is_free(step) && !is_free(-step)) ++step;
    band[i]->offset = is_free(step) ? step : -step;
  }
}

double half_height(const std::vector<Mark*>& band) {
  double height = 16;
  for (const Mark* mark : band) height = std::max(height, std::abs(mark->offset) + mark->radius + 10);
  return height;
}

std::vector<Mark> marks_of(const ShapeReport& report) {
  std::vector<Mark> marks;
  for (const Candidate& candidate : report.candidates) {
    if (candidate.use) marks.push_back({.candidate = &candidate});
  }
  return marks;
}

double kib(const Candidate& candidate) { return static_cast<double>(candidate.use->shared_bytes) / 1024; }

std::string classes(const ShapeReport& report, const Mark& mark) {
  std::string text = mark.shade < shades ? fmt::format("shade{}", mark.shade) : "rejected";
  if (is_winner(report, *mark.candidate)) text += " ring-winner";
  if (is_untuned(report, *mark.candidate)) text += " ring-default";
  return text;
}

// From the top of the drawing: many blocks first.
using Bands = std::map<int, std::vector<Mark*>, std::greater<>>;

Bands bands_of(std::vector<Mark>& marks) {
  Bands bands;
  for (Mark& mark : marks) bands[mark.candidate->use->blocks_per_sm].push_back(&mark);
  for (auto& [blocks, band] : bands) spread(band);
  return bands;
}

void draw_band(Svg& svg, const ShapeReport& report, int blocks, const std::vector<Mark*>& band, double middle) {
  svg.line(left, middle, right, middle, "grid");
  svg.text(left - 8, middle + 4, Anchor::end, "tick", std::to_string(blocks));
  for (const Mark* mark : band) {
    svg.dot(mark->x, middle + mark->offset, mark->radius, classes(report, *mark), facts_of(*mark->candidate));
  }
}

}  // namespace

std::string memory_chart(const ShapeReport& report) {
  std::vector<Mark> marks = marks_of(report);
  if (marks.empty()) return "";
  shade(marks);
  std::vector<double> sizes;
  for (const Mark& mark : marks) sizes.push_back(kib(*mark.candidate));
  Scale scale = scale_for(sizes, left, right);
  for (Mark& mark : marks) mark.x = scale.at(kib(*mark.candidate));
  const Bands bands = bands_of(marks);
  double bottom = top;
  for (const auto& [blocks, band] : bands) bottom += 2 * half_height(band);
  Svg svg(chart_width, bottom + 46, "Shared memory against blocks an SM, coloured by time");
  draw_x_axis(svg, {left, top, right, bottom}, scale, "shared memory of a block, KiB");
  svg.line(left, top, left, bottom, "axis");
  svg.text(8, top - 12, Anchor::start, "label", "blocks that an SM holds at once");
  double y = top;
  for (const auto& [blocks, band] : bands) {
    draw_band(svg, report, blocks, band, y + half_height(band));
    y += 2 * half_height(band);
  }
  return svg.finished();
}

}  // namespace wkvc
