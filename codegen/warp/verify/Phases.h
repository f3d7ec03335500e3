// The phases between barriers in which something lies in shared memory.
#pragma once

#include <cstdint>

namespace wkvc::warp {

// From `from` to `to`, or from a later phase to an earlier one: over the end of a round.
constexpr bool lives_in(std::int64_t from, std::int64_t to, std::int64_t phase) {
  return from <= to ? from <= phase && phase <= to : from <= phase || phase <= to;
}

// Whether two of those share a phase: then one begins in the other.
template <class X, class Y>
constexpr bool live_together(const X& x, const Y& y) {
  return lives_in(x.from, x.to, y.from) || lives_in(y.from, y.to, x.from);
}

}  // namespace wkvc::warp
