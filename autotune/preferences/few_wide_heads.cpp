#include "autotune/preferences/rules.h"

#include "autotune/preferences/thresholds.h"

namespace wkvc {

// Returns whether all blocks of clusters of two run at once, each with a multiprocessor for itself.
bool ScheduleRules::are_few_wide() const {
  return has_short_operands() && !narrow_keys() && may_be_cut() && 2 * pairs() <= sm_count_ &&
         tokens() >= (is_forward() ? least_tokens::cluster_of_wide_heads : least_tokens::cluster);
}

// Returns forward kernels, the likely fastest first; none where the rules for segments do as well.
std::vector<ScheduleRules::Ahead> ScheduleRules::ahead_of_few_wide(const Transition& transition) const {
  if (!transition.is_matrix) return ahead_of_factors(transition.has_bounded_factors);
  return is_forward() || !narrow_values() ? ahead_of_matrices() : std::vector<Ahead>{};
}

// Returns the same for states that go through a factor for each key. Warps of a forward kernel meet half as often with
// chunks of 32, which bounded factors allow.
std::vector<ScheduleRules::Ahead> ScheduleRules::ahead_of_factors(bool are_bounded) const {
  const int least = is_forward() ? least_tokens::segments_of_factors : least_tokens::segments_of_factors_with_gradients;
  int cut = cuts_.best(sm_count_, tokens_a_map::least);
  if (cut < many || tokens() < least) cut = longer(cut, tokens_a_segment::few_of_factors);
  const bool long_chunks = is_forward() && are_bounded && config_.scales != "always";
  std::vector<Ahead> list;
  if (cut >= some) {
    if (long_chunks && tokens() >= least_tokens::segments_of_long_chunks) list.push_back({2, 1, cut, 32});
    list.push_back({2, 1, cut});
    return list;
  }
  if (!is_forward() && narrow_values()) return list;
  const bool two_teams = !is_forward() || tokens() >= least_tokens::two_teams_of_cluster;
  if (two_teams && long_chunks) list.push_back({2, 2, 1, 32});
  if (two_teams) list.push_back({2, 2, 1});
  list.push_back({1, 2, 1});
  return list;
}

// Returns the same for states that go through a matrix. Two teams of a cluster have no room for all recurrences, so
// that single teams follow.
std::vector<ScheduleRules::Ahead> ScheduleRules::ahead_of_matrices() const {
  const bool may_pay = tokens() >= least_tokens::segments_of_wide_heads;
  const int cut = may_pay ? cuts_.best(sm_count_, tokens_a_map::of_wide_matrices) : 1;
  const int cut_long = longer(cut, tokens_a_segment::with_teams);
  const int cut_clusters = may_pay ? cuts_.best(sm_count_ / 2, tokens_a_map::of_wide_matrices) : 1;
  const bool clusters_gain =
      cut_clusters >= some || (cut_clusters == 3 && tokens() / 3 >= tokens_a_segment::three_of_clusters);
  std::vector<Ahead> list;
  if (cut_long > some && (cut_long == cut || !clusters_gain)) list.push_back({2, 1, cut_long});
  list.push_back({2, 2, clusters_gain ? cut_clusters : 1});
  if (const int cut_next = many * pairs() <= sm_count_ ? cut : cut_long; cut_next >= some)
    list.push_back({2, 1, cut_next});
  if (clusters_gain && is_forward()) list.push_back({1, 2, cut_clusters});
  list.push_back({1, 2, 1});
  if (const int cut_early = cuts_.best(sm_count_, tokens_a_map::least); cut_early >= some)
    list.push_back({2, 1, cut_early});  // recurrences that have no room for clusters take longer for a token
  return list;
}

// Adds these kernels. The backward kernel has segments alone, of two teams or, where those have no room, of one.
void ScheduleRules::add_few_wide(const Transition& transition) {
  const int cut = cuts_.at_once(tokens_a_segment::backward_of_wide_heads);
  for (int backward_teams = is_forward() ? 1 : 2; backward_teams > 0; --backward_teams)
    for (const Ahead& ahead : ahead_of_few_wide(transition)) {
      Config& config = add_teams(ahead.teams, 1, ahead.cluster);
      config.segments = ahead.segments;
      config.chunk = ahead.chunk;
      if (!is_forward())
        set_backward(config, {.teams = backward_teams, .blocks = 1, .segments = cut, .save_every = 64});
    }
}

}  // namespace wkvc
