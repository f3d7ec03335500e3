#include "autotune/preferences/rules.h"

#include <algorithm>

#include "autotune/preferences/thresholds.h"

namespace wkvc {

constexpr int little_shared = 120 * 1024;  // bytes: with less to prepare, threads of three teams have registers enough

// Adds teams that go ahead of the state, for forward passes.
void ScheduleRules::add_forward() {
  if (narrow_keys()) {
    if (2 * pairs() <= sm_count_ && tokens() >= least_tokens::cluster) add_teams(3, 1, 2);
    if (const int segments = likely_segments(); segments >= many) add_segments(segments);
    if (pairs() <= sm_count_ && tokens() >= least_tokens::many_teams) add_teams(4, 1);
    add_teams(2, pairs() <= sm_count_ ? 1 : 2);
    if (pairs() > sm_count_) add_teams(2, 1);
  } else {
    if (!config_.sram || config_.sram > little_shared) add_teams(3, 1).sram = little_shared;
    add_teams(2, 1);
  }
}

// Adds schedules of both passes, in whose backward kernel teams prepare chunks.
void ScheduleRules::add_both(const Transition& transition) {
  if (2 * pairs() <= sm_count_ && narrow_values()) add_cluster_with_gradients();
  if (is_small() && pairs() <= sm_count_) {
    add_segments(4);
    return;
  }
  narrow_keys() ? add_narrow_with_gradients() : add_wide_with_gradients(transition);
  set_backward(add_teams(2, 0), {.teams = 1});
  if (!narrow_keys() && narrow_values()) add_without_backward_teams();
}

// Adds clusters in the forward kernel. Narrow heads leave room for two blocks a multiprocessor in the backward kernel.
void ScheduleRules::add_cluster_with_gradients() {
  const int cut = narrow_keys() ? cuts_.best(2 * sm_count_, tokens_a_map::two_blocks_of_matrices) : some;
  Config& config = add_teams(3, 1, 2);
  config.segments = 1;
  set_backward(config,
               {.teams = 2, .blocks = narrow_keys() ? 2 : 1, .segments = std::max(cut, some), .save_every = 32});
  if (!narrow_keys()) return;
  add_teams_in_segments(cuts_.at_once(tokens_a_segment::with_gradients));
  add_segments(std::max(likely_segments(), some));
}

bool ScheduleRules::may_have_many_teams() const { return tokens() >= least_tokens::many_teams; }

// Adds teams in each pass. A forward kernel whose block has a multiprocessor for itself has as many teams as without
// gradients.
void ScheduleRules::add_narrow_with_gradients() {
  const bool one_block = pairs() <= sm_count_;
  const Backward two_blocks{.teams = 2, .blocks = 2, .save_every = 32};
  if (one_block && narrow_values() && may_have_many_teams()) set_backward(add_teams(4, 1), two_blocks);
  set_backward(add_teams(2, 2), two_blocks);
  if (one_block) set_backward(add_teams(2, 1), {.teams = 2, .blocks = 1, .save_every = 64});
}

// Adds the same for wide heads. Decays by numbers leave registers for a third team.
void ScheduleRules::add_wide_with_gradients(const Transition& transition) {
  const Backward backward{.teams = 2, .blocks = 1, .save_every = 64};
  if (transition.decays_by_numbers && !narrow_values() && may_have_many_teams())
    set_backward(add_teams(3, 1), backward);
  if (narrow_values() && config_.parts <= 1)  // parts of wide heads take 1.07 times as long so
    set_backward(add_teams(2, 1), {.teams = 2, .blocks = 1, .save_every = 32});
  set_backward(add_teams(2, 1), backward);
}

// Adds segments for backward kernels that have no room for teams.
void ScheduleRules::add_without_backward_teams() {
  const int cut = cuts_.at_once(tokens_a_segment::with_gradients);
  if (cut < 2 || tokens() < least_tokens::cluster || !may_be_cut()) return;
  if (cut == 2) {
    Config& config = add_teams(1, 0, 2);
    config.segments = 1;
    set_backward(config, {.teams = 1, .segments = cut, .save_every = 64});
  }
  add_segments(cut);
}

}  // namespace wkvc
