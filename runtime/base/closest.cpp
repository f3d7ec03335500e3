#include "runtime/base/closest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace wkvc {
namespace {

// How many letters have to be inserted, dropped or replaced (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::string closest(std::string_view name, std::span<const std::string> names) {
  const auto best = std::ranges::min_element(names, {}, [&](const auto& other) { return distance(name, other); });
  const bool alike = best != names.end() && distance(name, *best) <= std::max<std::size_t>(2, name.size() / 3);
  return alike ? fmt::format("; did you mean '{}'?", *best) : "";
}

}  // namespace wkvc
