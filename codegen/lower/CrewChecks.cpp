#include "codegen/lower/CrewChecks.h"

#include <fmt/ranges.h>

#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/lower/ChunkToWarp.h"
#include "codegen/lower/Placement.h"
#include "codegen/lower/Plain.h"
#include "codegen/lower/Summary.h"
#include "codegen/target/Target.h"
#include "codegen/warp/Registers.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

std::string alternatives(llvm::ArrayRef<std::string> options) {
  if (options.size() < 2) return options.empty() ? "" : options.front();
  return fmt::format("{} or {}", fmt::join(options.drop_back(), ", "), options.back());
}

static std::string called(Operation* op) {
  auto sym = op->getAttrOfType<StringAttr>("sym");
  std::string name = sym ? sym.str() : op->getNumResults() ? name_of(op->getResult(0)).str() : "";
  return name.empty() ? "a " + op->getName().stripDialect().str() : "'" + name + "'";
}

// A saved state that a kernel takes through a round by itself is of the round's first chunk, or without scales of the
// first of two rounds, through which it goes again before the second.
void check_saved(chunk::ProgramOp program, chunk::ProgramOp recompute, int teams) {
  const bool inside = !program.getBody().getOps<chunk::UpdateSavedOp>().empty();
  const int64_t every = program.getSavedEvery(), of_round = recompute ? every / 2 : every;
  if (teams > 1 && inside && recompute && program.getPlain() && every == 2 * teams) return;
  if (teams == 1 && inside)
    user_error("the text of '{}' takes its saved states through rounds of chunks, one for each team: give --teams 1,{}",
               program.getRecurrence().str(), of_round);
  if (teams > 1 && inside && every != teams)
    user_error(
        "--teams {} of the backward kernel of '{}' need a saved state every {} chunks, not every {} (a kernel without "
        "scales, which --scales guarded adds where f16 operands do without: every {} or {}): give --save-every {}, or "
        "for a text that says how often --teams N,{}",
        teams, program.getRecurrence().str(), teams, every, teams, 2 * teams,
        teams * static_cast<int64_t>(program.getChunk()), of_round);
  if (inside && recompute)
    user_error(
        "the text of '{}' takes its saved states through two rounds of chunks, one for each team, the first of them "
        "twice: give --teams N,{}",
        program.getRecurrence().str(), of_round);
  if (teams > 1 && !inside && !program.getBody().getOps<chunk::SavedStateOp>().empty())
    user_error(
        "the text of '{}' has no update of its saved state, without which teams can't go through it: give "
        "--teams N,1",
        program.getRecurrence().str());
}

// Whether value rows make x for themselves alone, or others for them before states come.
static bool is_there(Value x, Operation* user, const Placement& placement) {
  if (is_source(x)) return true;
  const Place &from = placement.of(x), &to = placement.of(user);
  // Of a row of values no warp can leave its part.
  if (from.owner == Owner::rows && from.shared && placement.space(x) == Space{Axis::one, Axis::value}) return false;
  if (from.owner == Owner::rows && to.owner != Owner::rows) return to.phase >= placement.first_after_rows();
  if (to.owner != Owner::rows) return true;
  return from.phase < placement.first_after_rows() &&
         !(from.owner == Owner::rows && is_partial_sum(x.getDefiningOp(), placement));
}

// Teams prepare chunks before states are taken through them and finish them after, with no barrier on the way.
static void check_backward_teams(chunk::ProgramOp program, int teams) {
  Placement placement(program, row_warps_of(program) / teams, Stored::sums, /*teams=*/true);
  for (auto round : program.getBody().getOps<chunk::RoundOp>())
    if (bounding_state(round) && placement.of(round.getResult()).phase < placement.first_of_rows())
      user_error_at(
          round,
          "'{}' rounds {} in a scale of the state '{}', which is not there yet: give it a bound of inputs, or --teams "
          "N,1",
          program.getRecurrence().str(), called(round.getX().getDefiningOp()),
          chunk::symbol(bounding_state(round).getDefiningOp()).str());
  for (Operation& op : program.getBody().front())
    for (Value x : op.getOperands())
      if (!is_there(x, &op, placement))
        user_error_at(
            x.getDefiningOp(),
            "--teams N,{}: the backward kernel of '{}' needs {} before its states have gone through the chunks of all "
            "teams: use --teams N,1",
            teams, program.getRecurrence().str(), called(x.getDefiningOp()));
}

// Teams prepare chunks before the state is taken through them without barriers, so nothing may cross from value rows.
void check_teams(chunk::ProgramOp program, const Crew& crew) {
  const int teams = crew.teams;
  if (teams == 1) return;
  std::string kernel = fmt::format("--teams {}: the {} kernel of '{}'", teams,
                                   program.getBackward() ? "backward" : "forward", program.getRecurrence().str());
  if (!crew.row_warps)
    user_error(
        "--cluster {}: the {} warps of the forward kernel of '{}' that have 16 rows of its state each can't be "
        "dealt to so many blocks; expected a number that divides them",
        crew.cluster, row_warps_of(program), program.getRecurrence().str());
  if (!is_possible(crew) && crew.preparers())
    user_error("{} would have {} warps, {} of them to prepare chunks; a block has at most {}: use fewer, or --rounds 1",
               kernel, crew.warps(), crew.preparers(), sm_90a.block.warps);
  if (!is_possible(crew)) user_error("{} has {} warps; expected a number that divides them", kernel, crew.row_warps);
  if (program.getBackward()) return check_backward_teams(program, teams);
  Placement placement(program, crew.team_warps);
  for (Operation& op : program.getBody().front()) {
    auto round = dyn_cast<chunk::RoundOp>(op);
    bool waits = isa<chunk::AccumulateOp, chunk::SavedStateOp>(op) || (round && takes_scale_of_state(round));
    for (Value x : op.getOperands())
      if (!is_source(x) && placement.of(x).owner == Owner::rows)
        waits |= placement.of(&op).owner != Owner::rows || is_partial_sum(x.getDefiningOp(), placement);
    if (!waits) continue;
    user_error_at(
        &op,
        "{} makes {} of value rows, for other warps than theirs; behind teams nothing crosses from value rows: use "
        "--teams 1{}",
        kernel, called(&op), crew.preparers() ? " with --rounds 1" : "");
  }
}

// The options with which threads have registers enough.
static std::string fewer_warps(chunk::ProgramOp program, const Crew& crew, int64_t most_warps) {
  const char* first = program.getBackward() ? "N," : "";
  if (const int64_t blocks = most_warps / crew.warps(); blocks > 0) return fmt::format("--blocks {}{}", first, blocks);
  const int64_t maps = map_rows(program) / 16;
  llvm::SmallVector<std::string> options;
  if (const int64_t teams = (most_warps - crew.row_warps) / crew.team_warps; crew.preparers() && teams > 1)
    options.push_back(fmt::format("--teams {}", teams));
  if (crew.preparers() && crew.row_warps <= most_warps && crew.row_warps % crew.teams == 0)
    options.push_back("--rounds 1");
  if (maps && crew.warps() - maps <= most_warps) options.push_back(fmt::format("--segments {}1", first));
  options.push_back(fmt::format("--teams {}1{}", first, crew.preparers() ? " with --rounds 1" : ""));
  return alternatives(options);
}

void check_registers(warp::KernelOp kernel, chunk::ProgramOp program, const Crew& crew) {
  const int64_t blocks = kernel.getBlocks(), least = warp::least_registers(kernel);
  const int64_t have = sm_90a.registers_of_thread(blocks, crew.warps());
  if (have >= least) return;
  user_error(
      "--teams {}: the {} kernel{} of '{}' has {} warps, so that with {} a multiprocessor a thread has {} registers; "
      "contractions of its groups of warps take at least {}: use {}",
      crew.teams, program.getBackward() ? "backward" : "forward", program.getSummary() ? " for segments" : "",
      program.getRecurrence().str(), crew.warps(), blocks == 1 ? "one block" : fmt::format("{} blocks", blocks), have,
      least, fewer_warps(program, crew, sm_90a.warps_of_registers(least)));
}

// What refuses needs all warps of the state at a barrier of theirs.
void check_guard(chunk::ProgramOp program, const Crew& crew) {
  if (!program.getPlain()) return;
  if (crew.cluster > 1)
    user_error(
        "--cluster {}: the text of '{}' has a program without scales, and blocks of a cluster can't refuse "
        "together what f16 doesn't hold: give --cluster 1",
        crew.cluster, program.getRecurrence().str());
  if (crew.rounds > 1 && crew.teams == sm_90a.most_teams())
    user_error(
        "--teams {}: no barrier is left for what '{}' has to refuse without scales: use fewer, or --scales always",
        crew.teams, program.getRecurrence().str());
}

}  // namespace wkvc
