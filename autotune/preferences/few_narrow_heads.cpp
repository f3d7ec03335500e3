#include "autotune/preferences/rules.h"

#include <algorithm>

#include "autotune/preferences/thresholds.h"

namespace wkvc {

void ScheduleRules::add_few_narrow(bool factors) {
  is_forward() ? add_few_narrow_forward(factors) : add_few_narrow_both(factors);
}

void ScheduleRules::add_few_narrow_forward(bool factors) {
  if (is_small())
    add_few_small(factors);
  else
    factors ? add_few_narrow_factors() : add_few_narrow_matrices();
}

// Adds segments for few values, of which two blocks have room in a multiprocessor.
void ScheduleRules::add_few_small(bool factors) {
  const int cut = cuts_.best_of_two(factors ? tokens_a_map::of_narrow_factors : tokens_a_map::of_small_matrices);
  const int least = factors ? least_tokens::segments_of_factors : least_tokens::segments_of_small_matrices;
  if (cut > some && tokens() >= least) add_teams_in_segments(cut);
}

// Adds segments with three teams, one block a multiprocessor, for heads so few that several segments of each run at
// once. Eight heads and fewer have segments of clusters before that.
void ScheduleRules::add_few_narrow_matrices() {
  if (const int of_clusters = cuts_.at_once(tokens_a_segment::of_few_heads, 2);
      of_clusters >= many && tokens() >= least_tokens::segments_of_clusters)
    add_teams(3, 1, 2).segments = of_clusters;
  int cut = cuts_.at_once(tokens_a_segment::of_few_heads);
  if (cut < many) cut = longer(cut, tokens_a_segment::few_of_matrices);
  const int least = cut == some ? tokens_a_segment::four_of_matrices : 0;
  if (cut >= some && tokens() / cut >= least) add_teams(3, 1).segments = cut;
}

// Adds the same for states that go through a factor for each key. Two of their segments may share a multiprocessor.
void ScheduleRules::add_few_narrow_factors() {
  const int cut = cuts_.at_once(tokens_a_segment::of_few_heads);
  const int twice = cuts_.best(2 * sm_count_, tokens_a_map::of_narrow_factors);
  if (cut >= many)
    add_teams(3, 1).segments = cut;
  else if (twice >= many && tokens() >= 2 * least_tokens::segments_of_factors)
    add_teams_in_segments(twice);
  else if (cut > some && tokens() >= least_tokens::segments_of_factors)
    add_teams(3, 1).segments = cut;
}

// Returns whether maps of segments are matrices of the most keys and values that count as few.
bool ScheduleRules::are_large(bool factors) const { return !factors && !is_small(); }

void ScheduleRules::add_few_narrow_both(bool factors) {
  const bool large = are_large(factors);
  if (tokens() < (large ? least_tokens::narrow_matrices_with_gradients : least_tokens::narrow_with_gradients)) return;
  add_two_blocks_with_gradients(factors);
  const int a_map = factors ? tokens_a_map::of_factors_with_gradients : tokens_a_map::with_gradients;
  const int cut = std::min(cuts_.at_once(tokens_a_segment::with_gradients), cuts_.best(sm_count_, a_map));
  if (cut > some) add_teams_in_segments(cut);
}

// Adds segments of two blocks a multiprocessor, which hide each other's waits if segments are long.
void ScheduleRules::add_two_blocks_with_gradients(bool factors) {
  const int a_map = factors ? tokens_a_map::two_blocks_of_factors : tokens_a_map::two_blocks_of_matrices;
  const int cut = cuts_.best_of_two(is_small() ? tokens_a_map::with_gradients : a_map);
  const int least = are_large(factors) ? tokens_a_segment::two_blocks_with_gradients : tokens_a_segment::with_gradients;
  if (cut * pairs() <= sm_count_ || cut < many || tokens() / cut < least) return;
  Config& config = add_teams_in_segments(cut);
  if (!is_small()) config.blocks = config.backward_blocks = 2;
}

}  // namespace wkvc
