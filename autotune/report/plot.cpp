#include "autotune/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace wkvc {
namespace {

// 1, 2 or 5 times a power of ten, at least `value`.
double round_step(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> linear_ticks(const Scale& scale, int about) {
  const double step = round_step((scale.high - scale.low) / about);
  std::vector<double> values;
  const auto first = static_cast<std::int64_t>(std::ceil(scale.low / step));
  for (std::int64_t i = first; static_cast<double>(i) * step <= scale.high; ++i) {
    values.push_back(static_cast<double>(i) * step);
  }
  return values;
}

std::vector<double> logarithmic_ticks(const Scale& scale, const std::vector<double>& factors) {
  std::vector<double> values;
  const auto first = static_cast<int>(std::floor(std::log10(scale.low)));
  for (int power = first; power <= std::log10(scale.high); ++power) {
    for (const double factor : factors) {
      const double value = factor * std::pow(10, power);
      if (value >= scale.low && value <= scale.high) values.push_back(value);
    }
  }
  return values;
}

constexpr double margins = 0.08;  // of the range, on both sides

Scale logarithmic_scale(double low, double high, double from, double to) {
  const double factor = std::pow(high / low, margins);
  return {low / factor, high * factor, from, to, true};
}

}  // namespace

double Scale::at(double value) const {
  const auto place = [&](double x) { return logarithmic ? std::log(x) : x; };
  return from + (to - from) * (place(value) - place(low)) / (place(high) - place(low));
}

Scale scale_for(const std::vector<double>& values, double from, double to) {
  const auto [low, high] = std::ranges::minmax(values);
  if (low > 0 && high / low > 20) return logarithmic_scale(low, high, from, to);
  // One value alone gets a range, too.
  const double margin = high > low ? margins * (high - low) : std::max(std::abs(high) * 0.1, 1e-12);
  return {low >= 0 ? std::max(0.0, low - margin) : low - margin, high + margin, from, to, false};
}

std::vector<double> ticks(const Scale& scale, int about) {
  if (!scale.logarithmic) return linear_ticks(scale, about);
  std::vector<double> values = logarithmic_ticks(scale, {1, 2, 5});
  if (values.size() > static_cast<std::size_t>(about) + 2) values = logarithmic_ticks(scale, {1});
  return values;
}

void draw_x_axis(Svg& svg, const Frame& frame, const Scale& scale, std::string_view label) {
  for (const double value : ticks(scale, 8)) {
    const double x = scale.at(value);
    svg.line(x, frame.top, x, frame.bottom, "grid");
    svg.text(x, frame.bottom + 16, Anchor::middle, "tick", number_text(value));
  }
  svg.line(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  svg.text((frame.left + frame.right) / 2, frame.bottom + 36, Anchor::middle, "label", label);
}

void draw_y_axis(Svg& svg, const Frame& frame, const Scale& scale, std::string_view label) {
  for (const double value : ticks(scale, 6)) {
    const double y = scale.at(value);
    svg.line(frame.left, y, frame.right, y, "grid");
    svg.text(frame.left - 8, y + 4, Anchor::end, "tick", number_text(value));
  }
  svg.line(frame.left, frame.top, frame.left, frame.bottom, "axis");
  svg.text(8, frame.top - 12, Anchor::start, "label", label);
}

std::string time_text(double ms) { return fmt::format("{:#.4g}", ms); }

std::string number_text(double value) {
  if (value == 0 || (std::abs(value) >= 0.01 && std::abs(value) < 1e4)) return fmt::format("{:.4g}", value);
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  return fmt::format("{:.4g}e{}", value / std::pow(10, power), power);
}

}  // namespace wkvc
