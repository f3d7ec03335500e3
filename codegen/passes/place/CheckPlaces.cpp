#include "codegen/passes/place/CheckPlaces.h"

#include "codegen/ir/Where.h"
#include "codegen/passes/place/PlaceKernel.h"
#include "codegen/passes/place/PlacedText.h"
#include "codegen/passes/place/Placing.h"
#include "codegen/passes/place/Roundings.h"
#include "codegen/passes/place/memory/Room.h"
#include "codegen/passes/place/rules/AssignPhases.h"
#include "codegen/passes/place/rules/MatrixWarps.h"
#include "codegen/passes/place/rules/Owners.h"
#include "codegen/passes/place/rules/Shares.h"
#include "codegen/passes/place/rules/Storage.h"
#include "codegen/passes/place/rules/Strips.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

template <class... Args>
[[noreturn]] void refuse(Operation* op, fmt::format_string<Args...> format, Args&&... args) {
  user_error_at(op, "{} {}", called(op), fmt::format(format, std::forward<Args>(args)...));
}

// Checks what a program's text says, rule by rule in the order of Placing.h. Owners follow from the program; the rule
// of storage tells from owners and phases what has to be stored.
class Checker {
 public:
  Checker(chunk::ProgramOp program, const Plan& plan, Stored keep)
      : program_(program),
        plan_(plan),
        keep_(keep),
        given_(read_placement(program)),
        rule_(place_values(program, plan.team_warps, plan.by_teams())),
        waits_(find_waits(rule_)) {}

  Placement run() {
    check_division();
    for (Operation& op : given_.body()) {
      check_owner(&op);
      check_warp(&op);
      check_phase(&op);
      for (Value x : op.getOperands()) check_operand(x, &op);
    }
    check_layouts();
    check_storage();
    return std::move(given_);
  }

 private:
  void check_division() {
    const Phases &phases = given_.division(), &rule = rule_.division();
    const std::string recurrence = program_.getRecurrence().str();
    if (phases.warps != plan_.team_warps)
      user_error_at(program_, "phases of '{}' are of {} warps; its schedule deals each chunk to {}", recurrence,
                    phases.warps, plan_.team_warps);
    if (given_.is_by_teams() != rule_.is_by_teams() || phases.states != rule.states ||
        (given_.is_by_teams() ? phases.prepare < 1 : phases.prepare || phases.finish))
      user_error_at(program_, "'{}' has {} phases; its schedule takes {}", recurrence, text_of(phases),
                    rule_.is_by_teams() ? fmt::format("prepare and finish, and between them states = {}", rule.states)
                                        : "whole, and no others");
  }

  void check_owner(Operation* op) {
    const ValuePlace &place = given_.of(op), &rule = rule_.of(op);
    if (place.owner != rule.owner)
      refuse(op, "has the owner {}; by what its rows and columns are it is {}", name_of(place.owner),
             name_of(rule.owner));
    if (place.columns != rule.columns)
      refuse(op, "has slabs of {}; expected {}", place.columns == Columns::keys ? "keys" : "values",
             rule.columns == Columns::keys ? "keys" : "values");
  }

  void check_warp(Operation* op) {
    const ValuePlace& place = given_.of(op);
    if (place.owner != Owner::matrix && place.warp >= 0)
      refuse(op, "has warp = {}, which matrices have; its owner is {}", place.warp, name_of(place.owner));
    if (place.owner != Owner::matrix) return;
    if (const std::string fault = warp_fault(place.warp, rule_); !fault.empty()) refuse(op, "{}", fault);
  }

  // The first phase and the last that the operation may be in, by what it waits for.
  std::pair<int, int> possible_phases(Operation* op) const {
    const int first_of_rows = given_.first_of_rows(), first_after = given_.first_after_rows();
    const Wait wait = waits_.lookup(op);
    if (!given_.is_by_teams()) {
      auto round = dyn_cast<chunk::RoundOp>(op);
      return {round && takes_scale_of_state(round), given_.phases() - 1};
    }
    if (rule_.of(op).owner == Owner::rows)
      return {wait == Wait::for_second_state ? first_after - 1 : first_of_rows,
              wait == Wait::for_first_state ? first_of_rows : first_after - 1};
    return {wait == Wait::for_inputs ? 0 : first_after, given_.phases() - 1};
  }

  void check_phase(Operation* op) {
    const ValuePlace& place = given_.of(op);
    if (op->getNumResults() && is_source(op->getResult(0))) return;  // nothing computes it
    const auto [first, last] = possible_phases(op);
    if (place.phase < first || place.phase > last)
      refuse(op, "is in phase {}; expected {}", place.phase,
             first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last));
    const bool among_states = place.phase >= given_.first_of_rows() && place.phase < given_.first_after_rows();
    if (given_.is_by_teams() && place.owner != Owner::rows && place.owner != Owner::anyone && among_states)
      refuse(op, "is in phase {}, in which value rows alone compute; its owner is {}", place.phase,
             name_of(place.owner));
  }

  void check_operand(Value x, Operation* op) {
    if (is_source(x)) return;
    const ValuePlace &from = given_.of(x), &to = given_.of(op);
    const int first = from.phase + crosses(x, op, given_);
    if (to.phase < first)
      refuse(op, "is in phase {} and reads {}, which is there from phase {} on", to.phase, called(x.getDefiningOp()),
             first);
    if (are_of_one_warp(x, op, given_) && from.warp != to.warp)
      refuse(op, "is made by warp {} of registers that hold {}, which warp {} makes; expected one warp for both",
             to.warp, called(x.getDefiningOp()), from.warp);
  }

  void check_layouts() {
    const Phases& phases = given_.division();
    Placement blocks = given_;
    blocks.division().prepared = Prepared::blocks, blocks.division().finished = Finished::blocks;
    if (phases.prepared == Prepared::strips && !fits_strips(blocks))
      user_error_at(program_, "slabs of '{}' can't be strips (templates/wkvc/cuda/strips.h); expected blocks",
                    program_.getRecurrence().str());
    if (phases.finished == Finished::shares && !fits_shares(blocks))
      user_error_at(program_, "what '{}' makes of its states can't be one share for each warp; expected blocks",
                    program_.getRecurrence().str());
    if (phases.together && !are_independent(given_, waits_))
      user_error_at(program_, "the states of '{}' go through its chunks apart; expected no sweeps = together",
                    program_.getRecurrence().str());
  }

  // Slabs may store what the rule computes again.
  bool may_be_stored(Operation* op) const {
    const ValuePlace& place = given_.of(op);
    return place.storage == Storage::shared && place.owner == Owner::slab && op->getNumResults() == 1 &&
           !is_source(op->getResult(0));
  }

  void check_storage() {
    Placement rule = given_;
    for (Operation& op : rule.body()) {
      rule.at(&op).storage = may_be_stored(&op) ? Storage::shared : Storage::registers;
      rule.at(&op).last = rule.of(&op).phase;
    }
    if (rule.division().finished == Finished::shares) hold_operands(rule);
    store_values(rule, keep_);
    for (Operation& op : rule.body()) {
      const ValuePlace &place = given_.of(&op), &expected = rule.of(&op);
      if (place.storage == expected.storage && place.last >= expected.last && place.last < given_.phases()) continue;
      refuse(&op, "has storage = {} until phase {}; by what reads it, it takes storage = {} until phase {} or later",
             name_of(place.storage), place.last, name_of(expected.storage), expected.last);
    }
  }

  chunk::ProgramOp program_;
  Plan plan_;
  Stored keep_;
  Placement given_, rule_;
  Waits waits_;
};

void check_settled(chunk::ProgramOp program) {
  const Schedule schedule = program.getSchedule();
  if (schedule.memory.keep != Stored::automatic && schedule.memory.prefetch != Ahead::automatic && schedule.grid.blocks)
    return;
  user_error_at(
      program,
      "the schedule of '{}' leaves memory or grid(blocks) open, which places depend on; give blocks, keep and "
      "prefetch, as wkvc emit --stage placed prints them",
      program.getRecurrence().str());
}

}  // namespace

void check_places(chunk::ProgramOp program, chunk::ProgramOp recompute) {
  check_settled(program);
  const Plan plan = wkvc::plan(program, recompute);
  const Schedule schedule = program.getSchedule();
  const Placement main = Checker(program, plan, schedule.memory.keep).run();
  const auto again = recompute ? std::optional(Checker(recompute, plan, schedule.memory.keep).run()) : std::nullopt;
  if (recompute && recompute.getSchedule().memory != schedule.memory)
    user_error_at(recompute,
                  "the schedule of the program that recomputes states of '{}' has another memory than that of the "
                  "backward program, whose kernel both are; give both the same",
                  program.getRecurrence().str());
  memory_choices(main, recompute, plan, may_copy_states(main, plan)).expect(program, schedule.memory.prefetch);
  const KernelMemory memory(main, again ? &*again : nullptr, plan, schedule.memory.prefetch);
  check_budget(program, memory, plan);
  const int64_t blocks =
      checked_blocks(program, plan.warps(), schedule.grid.blocks, block_bytes(program, memory, plan));
  if (blocks < schedule.grid.blocks)
    user_error_at(program, "the schedule of '{}' has {} blocks of {} bytes of shared memory; a multiprocessor holds {}",
                  program.getRecurrence().str(), schedule.grid.blocks, memory.bytes(), blocks);
}

}  // namespace wkvc
