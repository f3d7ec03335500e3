#include "codegen/passes/place/Plan.h"

#include <fmt/ranges.h>

#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/passes/chunk/Plain.h"
#include "codegen/passes/chunk/Summary.h"
#include "codegen/passes/place/PlacedText.h"
#include "codegen/passes/place/Placing.h"
#include "codegen/passes/place/Roundings.h"
#include "codegen/passes/place/TeamOptions.h"
#include "codegen/schedule/Faults.h"
#include "codegen/target/Target.h"
#include "runtime/base/plural.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

int row_warps_of(chunk::ProgramOp program) {
  return static_cast<int>((static_cast<int64_t>(program.getValueDim()) + map_rows(program)) / 16);
}

Plan warps_of(chunk::ProgramOp program) {
  const Schedule schedule = program.getSchedule();
  const int all = row_warps_of(program), cluster = schedule.grid.cluster, teams = schedule.prepare.teams;
  const int row_warps = all % cluster ? 0 : all / cluster;
  const int team_warps = schedule.goes_ahead() ? schedule.prepare.warps : row_warps / teams;
  return {row_warps, teams, schedule.rounds(), team_warps, cluster};
}

bool is_possible(const Plan& plan) {
  return plan.row_warps > 0 && plan.warps() <= sm_90a.block.warps &&
         (plan.goes_ahead() || plan.row_warps % plan.copies == 0);
}

void set_teams(chunk::ProgramOp program, int copies) {
  program.reschedule([=](Schedule& schedule) { schedule.prepare.teams = copies; });
}

void drop_teams(chunk::ProgramOp program) {
  program.reschedule([](Schedule& schedule) {
    schedule.grid.cluster = 1;
    schedule.prepare.teams = 1;
    schedule.prepare.warps = 0;
  });
}

std::string alternatives(llvm::ArrayRef<std::string> options) {
  if (options.size() < 2) return options.empty() ? "" : options.front();
  return fmt::format("{} or {}", fmt::join(options.drop_back(), ", "), options.back());
}

// Returns what messages call a choice: a placed text takes no options, and has the field.
static std::string choice(chunk::ProgramOp program, const std::string& option, const std::string& field) {
  return program->hasAttr("phases") ? field : option;
}

// The same of so many teams; `options` is what --teams is given.
static std::string teams_choice(chunk::ProgramOp program, const std::string& options, int64_t teams) {
  return choice(program, "--teams " + options, fmt::format("prepare(teams = {})", teams));
}

// A saved state that a kernel takes through a round by itself is of the round's first chunk, or without scales of the
// first of two rounds, through which it goes again before the second.
static void check_saved(chunk::ProgramOp program, chunk::ProgramOp recompute, int teams) {
  if (recompute && recompute.getSavedEvery() != program.getSavedEvery())
    user_error("'{}' saves a state every {} chunks and recomputes as though it were every {}",
               program.getRecurrence().str(), program.getSavedEvery(), recompute.getSavedEvery());
  const bool inside = !program.getBody().getOps<chunk::UpdateSavedOp>().empty();
  const int64_t every = program.getSavedEvery(), of_round = recompute ? every / 2 : every;
  if (teams > 1 && inside && recompute && program.getPlain() && every == 2 * teams) return;
  if (teams == 1 && inside)
    user_error("the text of '{}' takes its saved states through rounds of chunks, one for each team: give {}",
               program.getRecurrence().str(), teams_choice(program, fmt::format("1,{}", of_round), of_round));
  if (teams > 1 && inside && every != teams)
    user_error(
        "{} of the backward kernel of '{}' need a saved state every {} chunks, not every {} (a kernel without scales, "
        "which {} adds where f16 operands do without: every {} or {}): give {}, or other {}",
        teams_choice(program, fmt::format("{}", teams), teams), program.getRecurrence().str(), teams, every,
        choice(program, "--scales guarded", "numerics(scales = guarded)"), teams, 2 * teams,
        choice(program, fmt::format("--save-every {}", teams * static_cast<int64_t>(program.getChunk())),
               fmt::format("checkpoint(every = {})", teams)),
        choice(program, "--teams N,M", "teams"));
  if (inside && recompute)
    user_error(
        "the text of '{}' takes its saved states through two rounds of chunks, one for each team, the first of them "
        "twice: give {}",
        program.getRecurrence().str(), teams_choice(program, fmt::format("N,{}", of_round), of_round));
  if (teams > 1 && !inside && !program.getBody().getOps<chunk::SavedStateOp>().empty())
    user_error("the text of '{}' has no update of its saved state, without which teams can't go through it: give {}",
               program.getRecurrence().str(), teams_choice(program, "N,1", 1));
}

// Whether value rows make x for themselves alone, or others for them before states come.
static bool is_there(Value x, Operation* user, const Placement& placement) {
  if (is_source(x)) return true;
  const ValuePlace &from = placement.of(x), &to = placement.of(user);
  // Of a row of values no warp can leave its part.
  if (from.owner == Owner::rows && placement.is_shared(x) && placement.space(x) == Space{Axis::one, Axis::value})
    return false;
  if (from.owner == Owner::rows && to.owner != Owner::rows) return to.phase >= placement.first_after_rows();
  if (to.owner != Owner::rows) return true;
  return from.phase < placement.first_after_rows() &&
         !(from.owner == Owner::rows && is_partial_sum(x.getDefiningOp(), placement));
}

namespace {
// Something keeps teams from preparing the chunks of a backward program before states are taken through them, with no
// barrier on the way: a rounding in a scale of the state, or a value that other warps than its own need meanwhile.
struct Obstacle {
  Operation* op = nullptr;  // null: nothing does
  bool scale = false;
};
}  // namespace

static Obstacle obstacle_to_teams(chunk::ProgramOp program, int teams) {
  const Placement placement =
      stored(place_values(program, row_warps_of(program) / teams, /*by_teams=*/true), Stored::sums);
  for (auto round : program.getBody().getOps<chunk::RoundOp>())
    if (bounding_state(round) && placement.of(round.getResult()).phase < placement.first_of_rows())
      return {round, /*scale=*/true};
  for (Operation& op : program.getBody().front())
    for (Value x : op.getOperands())
      if (!is_there(x, &op, placement)) return {x.getDefiningOp()};
  return {};
}

static void check_backward_teams(chunk::ProgramOp program, int teams) {
  const Obstacle obstacle = obstacle_to_teams(program, teams);
  if (obstacle.scale) {
    auto round = cast<chunk::RoundOp>(obstacle.op);
    user_error_at(
        round, "'{}' rounds {} in a scale of the state '{}', which is not there yet: give it a bound of inputs, or {}",
        program.getRecurrence().str(), called(round.getX().getDefiningOp()),
        chunk::symbol(bounding_state(round).getDefiningOp()).str(), teams_choice(program, "N,1", 1));
  }
  if (obstacle.op)
    user_error_at(obstacle.op,
                  "{}: the backward kernel of '{}' needs {} before its states have gone through the chunks of all "
                  "teams: use {}",
                  teams_choice(program, fmt::format("N,{}", teams), teams), program.getRecurrence().str(),
                  called(obstacle.op), teams_choice(program, "N,1", 1));
}

// Returns an operation of a forward program that makes something of value rows for other warps than theirs; null if
// there is none.
static Operation* crossing_from_rows(chunk::ProgramOp program, int team_warps) {
  const Placement placement = place_values(program, team_warps, /*by_teams=*/false);
  for (Operation& op : program.getBody().front()) {
    auto round = dyn_cast<chunk::RoundOp>(op);
    bool waits = isa<chunk::AccumulateOp, chunk::SavedStateOp>(op) || (round && takes_scale_of_state(round));
    for (Value x : op.getOperands())
      if (!is_source(x) && placement.of(x).owner == Owner::rows)
        waits |= placement.of(&op).owner != Owner::rows || is_partial_sum(x.getDefiningOp(), placement);
    if (waits) return &op;
  }
  return nullptr;
}

bool may_have_teams(chunk::ProgramOp program, int teams) {
  const int warps = row_warps_of(program);
  if (warps % teams) return false;
  return program.getBackward() ? !obstacle_to_teams(program, teams).op : !crossing_from_rows(program, warps / teams);
}

// Teams prepare chunks before the state is taken through them without barriers, so nothing may cross from value rows.
static void check_teams(chunk::ProgramOp program, const Plan& plan) {
  const int teams = plan.copies;
  if (!plan.by_teams()) return;
  const bool ahead = plan.goes_ahead();
  const std::string of_teams = choice(program, teams_option(teams, ahead), fmt::format("prepare(teams = {})", teams));
  const std::string kernel = fmt::format("{}: the {} kernel of '{}'", of_teams,
                                         program.getBackward() ? "backward" : "forward", program.getRecurrence().str());
  if (!plan.row_warps)
    user_error(
        "{}: the {} warps of the forward kernel of '{}' that have 16 rows of its state each can't be "
        "dealt to so many blocks; expected a number that divides them",
        choice(program, fmt::format("--cluster {}", plan.cluster), fmt::format("grid(cluster = {})", plan.cluster)),
        row_warps_of(program), program.getRecurrence().str());
  if (!is_possible(plan) && ahead)
    user_error("{} would have {} warps, {} of them to prepare chunks; a block has at most {}: use {}{}", kernel,
               plan.warps(), plan.preparers(), sm_90a.block.warps, teams > 1 ? "fewer, or " : "",
               choice(program, "--rounds 1", "no warps of their own"));
  if (!is_possible(plan))
    user_error("{} has {}; expected {}", kernel, plural(plan.row_warps, "warp"),
               plan.row_warps == 1 ? "1" : "a number that divides them");
  if (program.getBackward()) return check_backward_teams(program, teams);
  if (Operation* op = crossing_from_rows(program, plan.team_warps))
    user_error_at(
        op,
        "{} makes {} of value rows, for other warps than theirs; behind teams nothing crosses from value rows: use {}",
        kernel, called(op), choice(program, no_teams_option(teams, ahead), "one team"));
}

// Blocks of what refuses are of a guarded schedule, whatever a text says.
static void check_schedule(chunk::ProgramOp program) {
  Schedule schedule = program.getSchedule();
  if (program.getPlain()) schedule.numerics = Numerics::guarded;
  if (auto fault = fault_of(schedule, program.getBackward(), CalledBy::fields)) user_error_at(program, "{}", *fault);
}

Plan plan(chunk::ProgramOp program, chunk::ProgramOp recompute) {
  check_schedule(program);
  const Plan plan = warps_of(program);
  check_saved(program, recompute, plan.copies);
  check_teams(program, plan);
  return plan;
}

}  // namespace wkvc
