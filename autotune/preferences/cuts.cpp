#include "autotune/preferences/cuts.h"

#include <algorithm>
#include <bit>

#include "autotune/search/space.h"

namespace wkvc {
namespace {

// Returns the most segments up to which sequences may be cut.
template <class MayCut>
int most(MayCut may_cut) {
  int segments = 1;
  while (segments < most_segments && may_cut(segments + 1)) ++segments;
  return segments;
}

std::int64_t quotient_up(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }

}  // namespace

int Cuts::at_once(int least_tokens, int blocks) const {
  return most([&](int segments) { return blocks * segments * pairs <= sm_count && tokens / segments >= least_tokens; });
}

int Cuts::best(int blocks_at_once, int tokens_a_map) const {
  return most(
      [&](int segments) { return segments * pairs <= blocks_at_once && segments * segments * tokens_a_map <= tokens; });
}

int Cuts::best_of_two(int tokens_a_map) const {
  const int twice = best(2 * sm_count, tokens_a_map);
  return 2 * twice * pairs >= 3 * sm_count ? twice : best(sm_count, tokens_a_map);
}

int Cuts::likely(int blocks_per_sm, int least_tokens) const {
  const int segments = most([&](int count) {
    return can_be_cut({1, tokens, pairs}, count, sm_count, blocks_per_sm) && tokens / count >= least_tokens;
  });
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(segments)));
}

int Cuts::evened(int segments, int unit, int strips) const {
  if (tokens < 1) return segments;
  const std::int64_t units = quotient_up(tokens, unit);
  segments = static_cast<int>(std::min<std::int64_t>(segments, units));
  if (segments <= 4) return segments;
  const std::int64_t fewest = quotient_up(units, quotient_up(units, segments));
  const int fewer = static_cast<int>(std::max(fewest, std::min<std::int64_t>({segments, strips, units})));
  return 5 * fewer <= 4 * segments ? fewer : segments;
}

}  // namespace wkvc
