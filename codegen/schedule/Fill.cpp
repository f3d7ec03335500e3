#include "codegen/schedule/Fill.h"

#include <algorithm>

#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr int keys_of_warp = 32;  // that each of a team's own warps has a strip of

void set(int& field, int value) {
  if (value != 0) field = value;
}

void fill_numerics(Schedule& schedule, const std::string& scales) {
  if (!scales.empty()) schedule.numerics = scales == "guarded" ? Numerics::guarded : Numerics::scaled;
}

void fill_forward(Schedule& schedule, const Config& config, int keys) {
  set(schedule.grid.segments, config.segments);
  set(schedule.grid.cluster, config.cluster);
  set(schedule.grid.blocks, config.blocks);
  set(schedule.prepare.teams, config.teams);
  if (config.rounds != 0) schedule.prepare.warps = config.rounds > 1 ? std::max(1, keys / keys_of_warp) : 0;
  fill_numerics(schedule, config.scales);
}

void fill_backward(Schedule& schedule, const Config& config, int chunk) {
  if (config.save_every % chunk != 0) {
    user_error("--save-every {}: states are saved at the ends of chunks; expected a multiple of {} tokens",
               config.save_every, chunk);
  }
  set(schedule.grid.segments, config.backward_segments);
  set(schedule.grid.blocks, config.backward_blocks);
  set(schedule.prepare.teams, config.backward_teams);
  set(schedule.checkpoint.every, config.save_every / chunk);
  if (!config.saved.empty()) schedule.checkpoint.dtype = *dtype_from(config.saved);
  fill_numerics(schedule, config.backward_scales);
}

}  // namespace

void fill(Schedule& schedule, const Config& config, bool backward, int chunk, int keys) {
  if (backward) {
    fill_backward(schedule, config, chunk);
  } else {
    fill_forward(schedule, config, keys);
  }
}

Schedule forward_schedule(const Config& config) {
  Schedule schedule;
  fill_forward(schedule, config, keys_of_warp);
  return schedule;
}

}  // namespace wkvc
