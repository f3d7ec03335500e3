#include "autotune/preferences/rules.h"

#include "autotune/preferences/thresholds.h"

namespace wkvc {

// Adds schedules for contractions in f32, or in two bf16 terms. Warps of teams hide the time that splitting operands
// takes.
void ScheduleRules::add_exact() {
  const int cut = cuts_.best(sm_count_, tokens_a_map::least);
  if (is_forward() && shape_class_.accuracy == "bf16x3") add_two_terms(cut);
  if (cut >= (is_forward() ? some : 2)) {
    add_teams_in_segments(cut);
    add_segments(cut);
  } else if (!narrow_keys() && is_forward()) {
    if (gives_teams_work()) add_teams(2, 1);
  } else if (narrow_keys() && !is_forward()) {
    set_backward(pairs() <= sm_count_ ? add_teams(2, 0) : add(), {.teams = 2, .save_every = 32});
  }
}

// Adds clusters of two, unless so many segments are faster.
void ScheduleRules::add_two_terms(int cut) {
  const bool long_enough = tokens() >= least_tokens::many_segments_of_two_terms;
  const bool segments = narrow_keys() ? cut >= some : cut >= 2 * many && long_enough;
  if (segments || tokens() < least_tokens::cluster_of_wide_heads) return;
  if (narrow_keys()) add_teams(3, 1, 2);
  add_teams(1, 1, 2);
}

}  // namespace wkvc
