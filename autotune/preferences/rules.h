// Rules that fill a list of schedules, the likely fastest first, by what a launch's heads are.
#pragma once

#include <optional>

#include "autotune/preferences/preferences.h"
#include "autotune/preferences/schedules.h"

namespace wkvc {

class ScheduleRules : Schedules {
 public:
  using Schedules::Schedules;

  std::vector<Config> list(const Transition& transition);

  // Returns what sequences that lie one behind the other have, if they fill the GPU twice.
  std::optional<Config> when_packed(std::int64_t sequences);

 private:
  void add_without_guards();

  // few_wide_heads.cpp: clusters of blocks, and segments, for heads of more than 64 keys.
  // A forward kernel: its teams that go ahead, blocks of a cluster, segments of a sequence, and tokens of a chunk.
  struct Ahead {
    int teams, cluster, segments, chunk = 0;  // 0: the compiler's choice
  };
  bool are_few_wide() const;
  std::vector<Ahead> ahead_of_few_wide(const Transition& transition) const;
  std::vector<Ahead> ahead_of_factors(bool are_bounded) const;
  std::vector<Ahead> ahead_of_matrices() const;
  void add_few_wide(const Transition& transition);

  // few_narrow_heads.cpp: segments for heads of up to 64 keys and values.
  void add_few_narrow(bool factors);
  void add_few_narrow_forward(bool factors);
  void add_few_small(bool factors);
  void add_few_narrow_matrices();
  void add_few_narrow_factors();
  bool are_large(bool factors) const;
  void add_few_narrow_both(bool factors);
  void add_two_blocks_with_gradients(bool factors);

  // exact_contractions.cpp: contractions in f32, or in two bf16 terms.
  void add_exact();
  void add_two_terms(int cut);

  // segments.cpp: segments by a power of two, where no other rule has any.
  void add_segmented();
  void cut_backward();
  int likely_segments() const;
  int least_segments() const;

  // many_heads.cpp: teams of warps, where sequences are not cut, or in the backward kernel alone.
  void add_forward();
  void add_both(const Transition& transition);
  void add_cluster_with_gradients();
  void add_narrow_with_gradients();
  void add_wide_with_gradients(const Transition& transition);
  void add_without_backward_teams();
  bool may_have_many_teams() const;
};

}  // namespace wkvc
