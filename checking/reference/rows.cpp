#include "checking/reference/rows.h"

#include <fmt/ranges.h>

#include "runtime/error.h"

namespace wkvc {
namespace {

std::string_view counted_by(const std::string& dim) {
  if (dim == "B") return "batch";
  if (dim == "T") return "token";
  if (dim == "M") return "state";
  if (dim == "H" || dim == "S") return "head";
  return "";
}

}  // namespace

std::string text_of(const Place& place) {
  std::vector<std::string> parts;
  for (const auto& [name, index] : place) parts.push_back(fmt::format("{} {}", name, index));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Rows::Rows(const TensorSpec& spec, const Manifest& manifest, LaunchSize size) {
  const Extents shape = shape_of(spec, manifest, size);
  for (std::size_t i = 0; i < spec.dims.size(); ++i) {
    const std::string_view name = counted_by(spec.dims[i]);
    const std::int64_t extent = shape[i];
    if (name.empty()) {
      length_ *= static_cast<std::size_t>(extent);
    } else {
      extents_.emplace_back(name, extent);
      count_ *= static_cast<std::size_t>(extent);
    }
  }
  if (extents_.empty() || extents_.back().first != "head") {
    user_error("the kernel's manifest gives '{}' the dimensions {}; expected H behind B and T", spec.name,
               fmt::join(spec.dims, ","));
  }
  heads_ = static_cast<std::size_t>(extents_.back().second);
}

Place Rows::place(std::size_t row) const {
  Place place = extents_;
  for (auto dimension = place.rbegin(); dimension != place.rend(); ++dimension) {
    const auto extent = static_cast<std::size_t>(dimension->second);
    dimension->second = static_cast<std::int64_t>(row % extent);
    row /= extent;
  }
  return place;
}

std::vector<double> Rows::of_heads(const std::vector<double>& values, std::size_t first, std::size_t count) const {
  std::vector<double> part;
  for (std::size_t row = first; row < count_; row += heads_) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * length_);
    part.insert(part.end(), begin, begin + static_cast<std::ptrdiff_t>(count * length_));
  }
  return part;
}

}  // namespace wkvc
