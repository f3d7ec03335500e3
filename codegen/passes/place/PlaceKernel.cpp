#include "codegen/passes/place/PlaceKernel.h"

#include <algorithm>
#include <map>

#include "codegen/passes/place/KeptForFinish.h"
#include "codegen/passes/place/PlacedText.h"
#include "codegen/passes/place/Placing.h"
#include "codegen/passes/place/Slabs.h"
#include "codegen/passes/place/UntiedSums.h"
#include "codegen/passes/place/memory/KernelMemory.h"
#include "codegen/passes/place/memory/Room.h"
#include "codegen/target/Target.h"
#include "codegen/warp/Registers.h"

using namespace mlir;

namespace wkvc {

namespace {

class Placer {
 public:
  Placer(chunk::ProgramOp program, chunk::ProgramOp recompute, const Plan& plan)
      : program_(program),
        recompute_(recompute),
        plan_(plan),
        main_(place_values(program, plan.team_warps, plan.by_teams())),
        blocks_(program.getSchedule().grid.blocks) {
    if (recompute) again_ = place_values(recompute, plan.team_warps, plan.by_teams());
  }

  // As much in shared memory as there is room for without giving up a block that states copied ahead leave.
  void choose() {
    take({Stored::sums, Ahead::inputs});
    if (bytes() > budget()) take({Stored::contractions, Ahead::inputs});
    if (bytes() > budget() && !plan_.by_teams()) take({Stored::contractions, Ahead::none});
    check_budget(program_, *kernel_, plan_);
    blocks_ = checked_blocks(program_, plan_.warps(), blocks_, bytes());
    const bool states = may_copy_states(main_, plan_);
    const bool fits_states = states && fits({Stored::sums, Ahead::states});
    if (states && !fits_states) take({Stored::sums, Ahead::inputs});
    if (!blocks_) blocks_ = blocks_per_sm(program_, plan_.warps(), bytes());
    const MemoryChoices choices = memory_choices(main_, recompute_, plan_, fits_states);
    for (const Schedule::Memory& choice : choices.for_schedule(program_.getSchedule().memory))
      if (fits(choice)) return;
    choices.expect_automatic(program_);
  }

  // Returns whether there is room for all that another placer has chosen.
  bool fits_choice_of(const Placer& other) {
    blocks_ = other.blocks_;
    return fits(other.memory_);
  }

  // Returns whether a multiprocessor holds as many blocks as of another placer's choice.
  bool fits_blocks_of(const Placer& other) {
    blocks_ = other.blocks_;
    return fits({Stored::sums, Ahead::inputs});
  }

  // Returns whether there is room for all values that have to be in shared memory.
  bool has_room() {
    take({Stored::contractions, Ahead::inputs});
    return bytes() <= budget();
  }

  void write() {
    const Places& places = stored_.at(memory_.keep);
    write_placement(places.main);
    if (places.again) write_placement(*places.again);
    program_.reschedule([&](Schedule& schedule) {
      schedule.grid.blocks = static_cast<int>(blocks_);
      schedule.memory = memory_;
    });
    if (recompute_) recompute_.reschedule([&](Schedule& schedule) { schedule.memory = memory_; });
  }

 private:
  // With storage.
  struct Places {
    Placement main;
    std::optional<Placement> again;
  };

  const Places& with_storage(Stored keep) {
    const auto found = stored_.find(keep);
    if (found != stored_.end()) return found->second;
    auto again = again_ ? std::optional(stored(*again_, keep)) : std::nullopt;
    return stored_.emplace(keep, Places{stored(main_, keep), std::move(again)}).first->second;
  }

  void take(Schedule::Memory memory) {
    memory_ = memory;
    const Places& places = with_storage(memory.keep);
    kernel_.emplace(places.main, places.again ? &*places.again : nullptr, plan_, memory.prefetch);
  }

  // With the blocks a multiprocessor is to hold, once that is known.
  bool fits(Schedule::Memory memory) {
    take(memory);
    return bytes() <= budget() && sm_90a.blocks_by_shared(bytes()) >= blocks_;
  }

  int64_t bytes() { return block_bytes(program_, *kernel_, plan_); }  // of a block
  int64_t budget() { return static_cast<int64_t>(program_.getSramBudget()); }

  chunk::ProgramOp program_, recompute_;
  Plan plan_;
  Placement main_;  // without storage
  std::optional<Placement> again_;
  std::map<Stored, Places> stored_;
  std::optional<KernelMemory> kernel_;  // of the last choice
  Schedule::Memory memory_;
  int64_t blocks_;  // that a multiprocessor holds; 0: not known yet
};

}  // namespace

bool may_copy_states(const Placement& main, const Plan& plan) {
  return !plan.by_teams() && !main.body().getOps<chunk::SavedStateOp>().empty() && main.phases() > 1;
}

MemoryChoices memory_choices(const Placement& main, chunk::ProgramOp recompute, const Plan& plan, bool fits_states) {
  const bool wide = sm_90a.is_wide(extent_of(Axis::key, main));
  const bool meets = !plan.goes_ahead() && main.program().getPlain();  // where teams have prepared a round
  if (plan.by_teams() && meets && wide) return {{Ahead::read, Ahead::early, Ahead::inputs}, wide};
  if (plan.by_teams()) return {{Ahead::early, Ahead::inputs}, wide};
  if (!fits_states) return {{Ahead::inputs, Ahead::none}, wide};
  if (recompute) return {{Ahead::groups, Ahead::states, Ahead::none}, wide};
  return {{Ahead::states, Ahead::none}, wide};
}

// Returns whether registers of a thread hold more than its part of a warp's rows of the state.
static bool has_registers(chunk::ProgramOp program, const Plan& plan) {
  const int64_t state = 16 * static_cast<int64_t>(program.getKeyDim()) / sm_90a.warp.threads;
  return sm_90a.registers_of_thread(1, plan.warps()) > state;
}

// What is refused is rare: the blocks that run again do without teams where these have no room, or leave the state
// none.
static void spare_room(chunk::ProgramOp program) {
  const Plan plan = wkvc::plan(program, {});
  if (plan.by_teams() && !(has_registers(program, plan) && Placer(program, {}, plan).has_room())) drop_teams(program);
}

// Keeps more for what teams make of states, where the kernel's schedule stays what it is without.
static void keep_for_finish(chunk::ProgramOp program, chunk::ProgramOp recompute, const Plan& plan) {
  for (const auto keep : {keep_numbers, keep_matrices}) {
    OwningOpRef<chunk::ProgramOp> more = program.clone();
    if (!keep(*more, plan)) continue;
    Placer placer(program, recompute, plan);
    placer.choose();
    if (Placer(*more, recompute, plan).fits_choice_of(placer)) program.getBody().takeBody(more->getBody());
  }
}

// Returns whether a thread has the registers that contractions by groups take; kernels with scales have none.
static bool may_contract_by_groups(chunk::ProgramOp program, const Plan& plan) {
  const auto keys = static_cast<int64_t>(program.getKeyDim());
  return !program.getPlain() || sm_90a.registers_of_thread(1, plan.warps()) >= warp::least_registers_by_groups(keys);
}

// Deals the warps of a summary's state to as many teams as a block has room for, unless it has others. A summary
// prepares chunks and takes the state through them, so its time is that of its teams.
static void add_teams(chunk::ProgramOp summary) {
  const Plan plan = wkvc::plan(summary, {});
  if (plan.goes_ahead() || !has_registers(summary, plan) || !may_contract_by_groups(summary, plan)) return;
  Placer placer(summary, {}, plan);
  placer.choose();
  for (int copies = std::min(plan.row_warps, sm_90a.most_teams()); copies > plan.copies; --copies) {
    if (!may_have_teams(summary, copies)) continue;
    OwningOpRef<chunk::ProgramOp> more = summary.clone();
    set_teams(*more, copies);
    if (!Placer(*more, {}, warps_of(*more)).fits_blocks_of(placer)) continue;
    summary.setSchedule(more->getSchedule());
    return;
  }
}

void place_kernel(chunk::ProgramOp program, chunk::ProgramOp recompute) {
  if (program.getRefused() && !program.getBackward()) spare_room(program);
  if (program.getSummary() && !program.getRefused()) add_teams(program);
  const Plan plan = wkvc::plan(program, recompute);
  if (plan.by_teams()) make_room_for_products(program, plan.team_warps);
  if (plan.by_teams() && program.getPlain() && program.getBackward()) {
    keep_for_finish(program, recompute, plan);
    untie_sums(program, plan);
  }
  Placer placer(program, recompute, plan);
  placer.choose();
  placer.write();
}

}  // namespace wkvc
