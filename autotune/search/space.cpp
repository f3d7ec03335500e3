#include "autotune/search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "codegen/config/config.h"
#include "codegen/rec/Limits.h"
#include "codegen/schedule/Faults.h"
#include "codegen/schedule/Fill.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

double saved_bytes(const Config& config, int distance, std::string_view dtype) {
  return double{1} * config.key_dim * config.value_dim * (dtype == "f32" ? 4 : 2) / distance;
}

// What is left open, for every configuration so far.
template <class Values, class Set>
void vary(std::vector<Config>& space, bool open, const Values& values, const Set& set) {
  if (!open) return;
  std::vector<Config> varied;
  for (const Config& config : space) {
    for (const auto& value : values) set(varied.emplace_back(config), value);
  }
  space = std::move(varied);
}

// None, powers of two, and those that give each multiprocessor a block.
std::vector<int> segment_counts(const SpaceLimits& limits) {
  std::set<int> counts;
  for (int count = 2; count <= most_segments; count *= 2) counts.insert(count);
  for (LaunchSize size : limits.sizes)
    counts.insert(static_cast<int>(std::clamp<std::int64_t>(
        limits.sm_count / std::max<std::int64_t>(size.batches * size.heads, 1), 2, most_segments)));
  std::erase_if(counts, [&](int count) {
    return std::ranges::none_of(limits.sizes, [&](LaunchSize size) {
      return can_be_cut(size, count, limits.sm_count, sm_90a.choices.tried_segment_blocks);
    });
  });
  counts.insert(0);
  return {counts.begin(), counts.end()};
}

// How warps of a forward kernel prepare chunks.
struct Crew {
  int teams, rounds, cluster;
};

// Crews that were among the fastest anywhere: one team, two of the same warps, teams of their own, and clusters.
constexpr std::array<Crew, 5> narrow_crews{{{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {4, 2, 1}, {3, 2, 2}}};
constexpr std::array<Crew, 6> wide_crews{{{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {3, 2, 1}, {2, 2, 2}, {1, 2, 2}}};

bool is_wide(const Config& base) { return sm_90a.is_wide(static_cast<std::uint64_t>(base.key_dim)); }

// Returns whether the crew is worth a try, in clusters of the size given or in its own.
bool is_tried(const Config& config, const Config& base) {
  const auto is_same = [&](const Crew& crew) {
    return config.teams == crew.teams && config.rounds == crew.rounds &&
           (base.cluster != 0 || config.cluster == crew.cluster);
  };
  return is_wide(base) ? std::ranges::any_of(wide_crews, is_same) : std::ranges::any_of(narrow_crews, is_same);
}

void vary_teams(std::vector<Config>& space, const Config& base, const SpaceLimits& limits) {
  vary(space, base.teams == 0, std::array{1, 2, 3, 4}, [](Config& config, int teams) { config.teams = teams; });
  vary(space, base.rounds == 0, std::array{1, 2}, [](Config& config, int rounds) { config.rounds = rounds; });
  vary(space, base.cluster == 0, std::array{1, 2}, [](Config& config, int cluster) { config.cluster = cluster; });
  std::erase_if(space, [&](const Config& config) {
    const bool impossible = fault_of(forward_schedule(config), /*backward=*/false, CalledBy::options).has_value();
    const bool slower = base.teams == 0 && !is_tried(config, base);
    const bool idle = std::ranges::any_of(limits.sizes, [&](LaunchSize size) {
      return size.batches * size.heads * config.cluster * std::max(config.segments, 1) <= 2 * limits.sm_count;
    });
    // Which do for few narrow heads what segments do.
    const bool cut = config.cluster > 1 && base.segments == 0 && config.segments > 1 && !is_wide(base);
    return impossible || cut || slower || (base.cluster == 0 && config.cluster > 1 && !idle);
  });
}

// Guards were faster wherever they were measured. In clusters nobody has measured them, so that both are tried.
void vary_scales(std::vector<Config>& space, const Config& base) {
  if (!base.scales.empty()) return;
  std::vector<Config> varied;
  for (const Config& config : space) {
    varied.emplace_back(config).scales = "guarded";
    if (config.cluster <= 1 || rec::has_wide_range(config.mma)) continue;  // which have no scales
    Config& always = varied.emplace_back(config);
    always.scales = "always";
    if (config.pass != "forward" && config.backward_scales.empty()) always.backward_scales = "guarded";
  }
  space = std::move(varied);
}

}  // namespace

bool can_be_cut(LaunchSize size, int segments, int sm_count, int blocks_per_sm) {
  return size.batches * size.heads * segments <= std::int64_t{blocks_per_sm} * sm_count &&
         size.tokens / segments >= sm_90a.choices.least_segment_tokens;
}

std::vector<Config> search_space(const Config& base, const SpaceLimits& limits) {
  check_fields(base);
  std::vector<Config> space{base};
  vary(space, base.chunk == 0, std::array{16, 32, 48, 64}, [](Config& config, int chunk) { config.chunk = chunk; });
  vary(space, base.segments == 0, segment_counts(limits), [](Config& config, int count) { config.segments = count; });
  vary(space, base.blocks == 0, std::array{1, 2, 3, 4, 5, 6},
       [](Config& config, int blocks) { config.blocks = blocks; });
  if (base.pass != "backward") vary_teams(space, base, limits);
  if (space.empty())
    user_error("--rounds {}, --cluster {} (0: open): a cluster is of 2 rounds; leave more open, or give --rounds 2",
               base.rounds, base.cluster);
  vary_scales(space, base);
  if (base.pass == "forward") return space;
  vary(space, base.backward_segments == 0, segment_counts(limits),
       [](Config& config, int count) { config.backward_segments = count; });
  vary(space, base.backward_blocks == 0, std::array{1, 2, 3},
       [](Config& config, int blocks) { config.backward_blocks = blocks; });
  vary(space, base.backward_teams == 0, std::array{1, 2},
       [](Config& config, int teams) { config.backward_teams = teams; });
  vary(space, base.saved.empty(), std::array{"f32", "f16"},
       [](Config& config, const char* dtype) { config.saved = dtype; });
  // Teams take a state through each of their rounds, or without scales through two.
  const bool open = base.save_every == 0 && base.backward_teams <= 1;
  vary(space, open, std::array{16, 32, 48, 64, 96, 128, 192},
       [](Config& config, int distance) { config.save_every = distance; });
  vary(space, base.save_every == 0 && !open, std::array{1, 2},
       [](Config& config, int rounds) { config.save_every = rounds * config.backward_teams * config.chunk; });
  const double most = limits.saved_bytes > 0 ? limits.saved_bytes : saved_bytes(base, default_distance, "f32");
  std::erase_if(space, [&](const Config& config) {
    const bool within = saved_bytes(config, config.save_every, config.saved) <= most;
    const int round = config.backward_teams * config.chunk;
    const bool may_do_without_scales =
        completed(config).backward_scales == "guarded" && (config.mma.empty() || config.mma == "f16");
    const bool by_rounds = config.backward_teams == 1 || config.save_every == round ||
                           (may_do_without_scales && config.save_every == 2 * round);
    return config.save_every % config.chunk != 0 || !by_rounds || (open && !within);
  });
  return space;
}

}  // namespace wkvc
