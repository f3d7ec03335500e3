#include "codegen/schedule/Faults.h"

#include <fmt/format.h>

#include <array>

#include "codegen/rec/Limits.h"
#include "codegen/target/Target.h"

namespace wkvc {
namespace {

// The words of enumerations, in their order.
constexpr std::array<std::string_view, 3> dtypes{"f32", "f16", "bf16"};
constexpr std::array<std::string_view, 2> matrices{"kept", "again"};
constexpr std::array<std::string_view, 2> numerics{"scaled", "guarded"};
constexpr std::array<std::string_view, 6> stored{"automatic", "contractions", "factors",
                                                 "sums",      "activations",  "exponentials"};
constexpr std::array<std::string_view, 7> ahead{"automatic", "none", "inputs", "early", "read", "states", "groups"};

constexpr std::array<ScheduleField, 11> table{{
    {"grid",
     "segments",
     {},
     1,
     static_cast<int>(rec::max_segments),
     [](const Schedule& s) { return s.grid.segments; },
     [](Schedule& s, int value) { s.grid.segments = value; }},
    {"grid",
     "cluster",
     {},
     1,
     sm_90a.block.cluster,
     [](const Schedule& s) { return s.grid.cluster; },
     [](Schedule& s, int value) { s.grid.cluster = value; }},
    {"grid",
     "blocks",
     {},
     0,
     sm_90a.sm.blocks,
     [](const Schedule& s) { return s.grid.blocks; },
     [](Schedule& s, int value) { s.grid.blocks = value; }},
    {"prepare",
     "teams",
     {},
     1,
     sm_90a.most_teams(),
     [](const Schedule& s) { return s.prepare.teams; },
     [](Schedule& s, int value) { s.prepare.teams = value; }},
    {"prepare",
     "warps",
     {},
     0,
     sm_90a.block.warps,
     [](const Schedule& s) { return s.prepare.warps; },
     [](Schedule& s, int value) { s.prepare.warps = value; }},
    {"checkpoint",
     "every",
     {},
     0,
     rec::max_save_every,
     [](const Schedule& s) { return s.checkpoint.every; },
     [](Schedule& s, int value) { s.checkpoint.every = value; }},
    {"checkpoint", "dtype", dtypes, 0, 2, [](const Schedule& s) { return static_cast<int>(s.checkpoint.dtype); },
     [](Schedule& s, int value) { s.checkpoint.dtype = static_cast<DType>(value); }},
    {"checkpoint", "matrices", matrices, 0, 1,
     [](const Schedule& s) { return static_cast<int>(s.checkpoint.matrices); },
     [](Schedule& s, int value) { s.checkpoint.matrices = static_cast<Matrices>(value); }},
    {"numerics", "scales", numerics, 0, 1, [](const Schedule& s) { return static_cast<int>(s.numerics); },
     [](Schedule& s, int value) { s.numerics = static_cast<Numerics>(value); }},
    {"memory", "keep", stored, 0, 5, [](const Schedule& s) { return static_cast<int>(s.memory.keep); },
     [](Schedule& s, int value) { s.memory.keep = static_cast<Stored>(value); }},
    {"memory", "prefetch", ahead, 0, 6, [](const Schedule& s) { return static_cast<int>(s.memory.prefetch); },
     [](Schedule& s, int value) { s.memory.prefetch = static_cast<Ahead>(value); }},
}};

}  // namespace

std::span<const ScheduleField> schedule_fields() { return table; }

const ScheduleField* find_field(std::string_view group, std::string_view name) {
  return find_field(schedule_fields(), group, name);
}

std::string text_of(const Schedule& schedule) { return text_of(schedule_fields(), schedule, Schedule()); }

std::optional<std::string> fault_of(const Schedule& schedule, bool backward, CalledBy called) {
  const bool options = called == CalledBy::options;
  const int blocks = schedule.grid.cluster, teams = schedule.prepare.teams;
  const std::string cluster = options ? fmt::format("--cluster {}", blocks) : fmt::format("grid(cluster = {})", blocks);
  if (blocks > 1 && !schedule.goes_ahead())
    return fmt::format("{}: blocks share what teams prepare a round ahead: give {}, too", cluster,
                       options ? "--rounds 2" : "prepare(warps = N), the warps of a team's own");
  if (backward && schedule.goes_ahead())
    return fmt::format("{} of forward kernels: the teams of a backward kernel have no warps of their own",
                       options ? "--rounds 2 and --cluster are" : "prepare(warps = N) is");
  if (!rec::is_cluster(blocks)) return fmt::format("{}: expected {}", cluster, rec::clusters_text);
  if (schedule.numerics == Numerics::guarded && schedule.goes_ahead() && teams == sm_90a.most_teams())
    return fmt::format("{}: no barrier is left for what is to be refused without scales: use fewer, or {}",
                       options ? fmt::format("--teams {}", teams) : fmt::format("prepare(teams = {})", teams),
                       options ? "--scales always" : "a text with numerics(scales = scaled)");
  return std::nullopt;
}

}  // namespace wkvc
