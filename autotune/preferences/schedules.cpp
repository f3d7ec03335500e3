#include "autotune/preferences/schedules.h"

#include <algorithm>

#include "autotune/preferences/thresholds.h"
#include "autotune/search/space.h"

namespace wkvc {

bool Schedules::gives_teams_work() const {
  const bool at_once = pairs() <= sm_count_ || (is_forward() && narrow_keys() && pairs() <= 2 * sm_count_);
  if (at_once) return tokens() >= least_tokens::teams;
  const bool wide = is_forward() && !narrow_keys();
  return tokens() >= (wide ? least_tokens::teams_of_many_wide_heads : least_tokens::teams_of_many_heads);
}

Config& Schedules::add() {
  Config& config = found_.emplace_back(config_);
  config.scales = "guarded";
  if (!is_forward() && has_short_operands()) config.saved = shape_class_.accuracy;
  return config;
}

// Blocks combine strips of 16 rows of the state.
void Schedules::even_out(Config& config) const {
  for (int Config::* segments : {&Config::segments, &Config::backward_segments})
    config.*segments = cuts_.evened(config.*segments, unit_of(config), shape_class_.value_dim / 16);
}

// Returns the tokens of a chunk, or between saved states.
int Schedules::unit_of(const Config& config) const {
  if (is_forward()) return config.chunk != 0 ? config.chunk : 16;
  if (config_.save_every != 0) return config_.save_every;
  return config.save_every != 0 ? config.save_every : default_distance;
}

Config& Schedules::add_segments(int segments) {
  Config& config = add();
  config.segments = segments;
  if (!is_forward()) set_backward(config, {.segments = segments, .save_every = 64});
  return config;
}

Config& Schedules::add_teams_in_segments(int segments) {
  Config& config = add_teams(2, 0);
  config.segments = segments;
  if (is_forward()) return config;
  Backward backward{.segments = segments};
  if (narrow_keys()) backward = {.teams = 2, .segments = segments, .save_every = 32};
  set_backward(config, backward);
  return config;
}

void Schedules::set_backward(Config& config, const Backward& backward) {
  config.backward_teams = backward.teams;
  config.backward_blocks = backward.blocks;
  config.backward_segments = backward.segments;
  config.save_every = backward.save_every;
}

void Schedules::prepare_in_teams(Config& config, int teams, int blocks) {
  config.teams = teams;
  config.rounds = 2;
  config.blocks = blocks;
}

Config& Schedules::add_teams(int teams, int blocks, int cluster) {
  Config& config = add();
  prepare_in_teams(config, teams, blocks);
  config.cluster = cluster;
  return config;
}

int Schedules::longer(int cut, int tokens_a_segment) const {
  return static_cast<int>(std::clamp<std::int64_t>(tokens() / tokens_a_segment, 1, cut));
}

}  // namespace wkvc
