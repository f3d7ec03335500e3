#include "autotune/preferences/rules.h"

#include <algorithm>

#include "autotune/preferences/thresholds.h"
#include "autotune/search/space.h"

namespace wkvc {

constexpr int never = most_segments + 1;  // no sequence is cut into so many segments

// Adds segments for sequences so few that they have to be cut. Long segments have work for teams, one block a
// multiprocessor.
void ScheduleRules::add_segmented() {
  const int segments = likely_segments();
  if (segments < least_segments()) return;
  if (is_forward() && has_short_operands()) {
    const int one_block = std::min(segments, cuts_.at_once(1));
    if (tokens() / one_block >= tokens_a_segment::with_teams) prepare_in_teams(add_segments(one_block), 2, 1);
  }
  add_segments(segments);
}

// Gives backward kernels of very wide heads as many segments as run at once. Their forward kernels are not cut.
void ScheduleRules::cut_backward() {
  const int cut = cuts_.at_once(tokens_a_segment::with_gradients);
  if (cut < some) return;
  for (Config& config : found_) {
    config.segments = 1;
    config.backward_segments = cut;
    config.save_every = 64;
  }
}

// Returns the most segments to try; 1 where sequences are many. Parts of heads, with gradients, have one block a
// multiprocessor.
int ScheduleRules::likely_segments() const {
  if (4 * pairs() > sm_count_) return 1;
  const bool parts_of_64 = config_.parts > 1 && narrow_values() && !is_small();
  if (!is_forward() && !narrow_keys() && parts_of_64) return cuts_.at_once(tokens_a_segment::with_gradients);
  const int blocks = sm_90a.choices.segment_blocks / (narrow_values() ? 1 : 2);
  return cuts_.likely(blocks, is_small() ? 1 : sm_90a.choices.likely_segment_tokens);
}

// Returns the fewest segments that are faster than none; `never` where no number is.
int ScheduleRules::least_segments() const {
  if (!may_be_cut()) return never;
  if (!has_short_operands()) return some;
  if (is_small()) return is_forward() ? never : some;
  if (narrow_keys() && narrow_values()) return 2 * many;
  if (!is_forward() || tokens() >= least_tokens::segments_of_wide_heads) return some;
  return many * pairs() <= sm_count_ ? many : never;
}

}  // namespace wkvc
