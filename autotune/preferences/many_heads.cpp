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

void ScheduleRules::add_backward_teams(int save_every, int backward_teams, int teams, int blocks, int backward_blocks) {
  Config& config = add_teams(teams, blocks);
  config.backward_teams = backward_teams;
  config.backward_blocks = backward_blocks;
  config.save_every = save_every;
}

// Adds schedules of both passes, in whose backward kernel teams prepare chunks.
void ScheduleRules::add_both(const Transition& transition) {
  if (2 * pairs() <= sm_count_ && narrow_values()) add_cluster_with_gradients();
  if (is_small() && pairs() <= sm_count_) {
    add_segments(4);
    return;
  }
  narrow_keys() ? add_narrow_with_gradients() : add_wide_with_gradients(transition);
  add_backward_teams(0, 1, 2, 0, 0);
  if (!narrow_keys() && narrow_values()) add_without_backward_teams();
}

// Adds clusters in the forward kernel. Narrow heads leave room for two blocks a multiprocessor in the backward kernel.
void ScheduleRules::add_cluster_with_gradients() {
  const int cut = narrow_keys() ? cuts_.best(2 * sm_count_, tokens_a_map::two_blocks_of_matrices) : some;
  Config& config = add_teams(3, 1, 2);
  config.segments = 1;
  config.backward_teams = 2;
  config.backward_segments = std::max(cut, some);
  config.backward_blocks = narrow_keys() ? 2 : 1;
  config.save_every = 32;
  if (!narrow_keys()) return;
  add_teams_in_segments(cuts_.at_once(tokens_a_segment::with_gradients));
  add_segments(std::max(likely_segments(), some));
}

bool ScheduleRules::may_have_many_teams() const { return tokens() >= least_tokens::many_teams; }

// Adds teams in each pass. A forward kernel whose block has a multiprocessor for itself has as many teams as without
// gradients.
void ScheduleRules::add_narrow_with_gradients() {
  const bool one_block = pairs() <= sm_count_;
  if (one_block && narrow_values() && may_have_many_teams()) add_backward_teams(32, 2, 4, 1, 2);
  add_backward_teams(32, 2, 2, 2, 2);
  if (one_block) add_backward_teams(64, 2, 2, 1, 1);
}

// Adds the same for wide heads. Decays by numbers leave registers for a third team.
void ScheduleRules::add_wide_with_gradients(const Transition& transition) {
  if (transition.decays_by_numbers && !narrow_values() && may_have_many_teams()) add_backward_teams(64, 2, 3, 1, 1);
  if (narrow_values() && config_.parts <= 1)  // parts of wide heads take 1.07 times as long so
    add_backward_teams(32, 2, 2, 1, 1);
  add_backward_teams(64, 2, 2, 1, 1);
}

// Adds segments for backward kernels that have no room for teams.
void ScheduleRules::add_without_backward_teams() {
  const int cut = cuts_.at_once(tokens_a_segment::with_gradients);
  if (cut < 2 || tokens() < least_tokens::cluster || !may_be_cut()) return;
  if (cut == 2) {
    Config& config = add_teams(1, 0, 2);
    config.segments = 1;
    config.backward_teams = 1;
    config.backward_segments = cut;
    config.save_every = 64;
  }
  add_segments(cut);
}

}  // namespace wkvc
