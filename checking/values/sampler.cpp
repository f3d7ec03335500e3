#include "checking/values/sampler.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/error.h"

namespace wkvc {
namespace {

// Returns the range of steep decays: all of a declared range, of logarithms the logarithm of their magnitude; nothing
// where no range is declared, or mild decays come from all of it. `of_state`: one number decays the whole state.
std::optional<rec::Interval> steep_range(const Draw& draw, bool of_state) {
  if (draw.range == rec::Interval()) return std::nullopt;
  rec::Interval range = draw.range;
  if (draw.distribution == Distribution::log_decay) {
    const double mildest = 0.37, steepest = of_state ? 7 : 128;
    range = {std::log(std::max(mildest, -range.hi)), std::log(std::min(steepest, -range.lo))};
  } else if (draw.distribution == Distribution::decay) {
    range = {std::max(range.lo, 0.0), std::min(range.hi, 1.0)};
  } else if (draw.distribution != Distribution::raw_decay) {
    return std::nullopt;
  }
  return range.bounded() && range.lo < range.hi ? std::optional(range) : std::nullopt;
}

void normalize(std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  for (double& value : values) value /= std::sqrt(sum);
}

// The number that lies at `part` of an interval, of 0 to 1.
double within(const rec::Interval& range, double part) { return range.lo * (1 - part) + range.hi * part; }

}  // namespace

void Sampler::fill(HostTensor& tensor, const Draw& draw) {
  const std::size_t row = tensor.shape().empty() ? 1 : static_cast<std::size_t>(tensor.shape().back());
  std::vector<double> values(row);
  for (std::size_t first = 0; first < tensor.size(); first += row) {
    for (double& value : values) value = one(draw);
    if (draw.distribution == Distribution::unit_norm) normalize(values);
    for (std::size_t i = 0; i < row; ++i) {
      tensor.set(first + i, std::clamp(values[i], draw.range.lo, draw.range.hi));
    }
  }
}

void Sampler::erase(HostTensor& tensor, const HostTensor& erased, const rec::Interval& range) {
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, std::clamp(-erased.get(i) * unit_interval_(engine_), range.lo, range.hi));
  }
}

void Sampler::steepen(HostTensor& tensor, const Draw& draw, bool of_state) {
  constexpr std::size_t every = 8;
  const std::optional<rec::Interval> range = steep_range(draw, of_state);
  if (!range) return;
  std::uniform_real_distribution<double> steep(range->lo, range->hi), chance(0, every);
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const bool chosen = i % static_cast<std::size_t>(tensor.shape().back()) % every == every - 1;
    if (!chosen && chance(engine_) >= 1) continue;
    const double x = steep(engine_);
    tensor.set(i, draw.distribution == Distribution::log_decay ? -std::exp(x) : x);
  }
}

double Sampler::one(const Draw& draw) {
  switch (draw.distribution) {
    case Distribution::raw_decay:
      return raw_decay_(engine_);
    case Distribution::log_decay:
      return -std::exp(raw_decay_(engine_));
    case Distribution::decay:
      return std::exp(-std::exp(raw_decay_(engine_)));
    case Distribution::unit_interval:
      return unit_interval_(engine_);
    case Distribution::uniform:
      return within(draw.range.bounded() ? draw.range : rec::Interval{0, 1}, unit_interval_(engine_));
    case Distribution::unit_norm:
    case Distribution::normal:
    case Distribution::erasure:
      return normal_(engine_);
  }
  internal_error("a distribution that is none");
}

}  // namespace wkvc
