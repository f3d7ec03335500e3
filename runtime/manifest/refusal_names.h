// The tensors in which plain kernels say what they refuse (docs/architecture.md, Guards).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace wkvc {

inline constexpr std::array<std::string_view, 4> refusal_names{"forward_refused", "backward_refused",
                                                               "forward_summary_refused", "backward_summary_refused"};

// Returns the name for a kernel of a pass, or for its summary of segments.
constexpr std::string_view refusals_name(bool backward, bool summary) {
  return refusal_names[(summary ? 2U : 0U) + (backward ? 1U : 0U)];
}

constexpr bool is_of_refusals(std::string_view name) {
  return std::ranges::find(refusal_names, name) != refusal_names.end();
}

}  // namespace wkvc
