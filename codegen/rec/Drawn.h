// How the elements of an input or parameter are distributed, where its text says so: {drawn = "normalised"}. Nothing
// but random data follows from the word.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace wkvc::rec {

inline constexpr std::string_view drawn_name = "drawn";  // of the attribute

inline constexpr std::array<std::string_view, 3> distribution_names = {"normal", "normalised", "uniform"};
constexpr bool is_distribution(std::string_view name) {
  return std::ranges::find(distribution_names, name) != distribution_names.end();
}
inline constexpr std::string_view distributions_text = "normal, normalised or uniform";

}  // namespace wkvc::rec
