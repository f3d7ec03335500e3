#include "codegen/passes/place/memory/KernelMemory.h"

#include "codegen/chunk/ChunkBuilder.h"
#include "codegen/ir/Where.h"

using namespace mlir;

namespace wkvc {

Type saved_type(chunk::ProgramOp program) { return element_type(program.getContext(), program.getSaved()); }

// While a state goes through a round again, what comes next is copied: teams have read inputs for it before.
static void check_inputs_again(chunk::ProgramOp program, const PlacedProgram& again, const Plan& plan) {
  if (again.shared.ring_plan().are_read_first()) return;
  user_error_at(program,
                "--teams N,{}: value rows of '{}' read its inputs while a state goes through a round again, when the "
                "next ones are copied: give --save-every {} or use --teams N,1",
                plan.copies, program.getRecurrence().str(), plan.copies * static_cast<int64_t>(program.getChunk()));
}

KernelMemory::KernelMemory(const Placement& main, const Placement* again, const Plan& plan, Ahead prefetch) {
  main_.emplace(main, plan, spaces_, 0);
  const bool goes_again = again && plan.by_teams();  // through rounds of teams
  if (goes_again) main_->shared.ring_plan().go_again();
  main_->plan_shared(plan, prefetch);
  if (prefetch == Ahead::states || prefetch == Ahead::groups)
    main_->shared.stage_state("S_staged", saved_type(main.program()));
  if (again) plan_again(*again, plan, prefetch);
  if (goes_again) check_inputs_again(main.program(), *again_, plan);
  allocate_all(plan);
}

void KernelMemory::plan_again(const Placement& again, const Plan& plan, Ahead prefetch) {
  const int first = main_->placement.phases() + 1, last = first + again.phases();
  again_.emplace(again, plan, spaces_, first);
  if (main_->shared.ring_plan().goes_again()) again_->shared.ring_plan().share(main_->shared.ring_plan());
  again_->plan_shared(plan, Ahead::inputs);
  main_->shared.keep_sums_until(last);
  if (prefetch != Ahead::groups) return;
  again_->shared.stage_state("S_group_staged", saved_type(main_->program));
  again_->shared.keep_copies_until(last);
  main_->shared.keep_copies_until(last);
}

// Returns the channel of this name, a new one if there is none.
PlannedChannel& KernelMemory::channel(const std::string& name) {
  auto found = llvm::find_if(channels_, [&](const PlannedChannel& channel) { return channel.name == name; });
  return found == channels_.end() ? channels_.emplace_back(PlannedChannel{name, {}}) : *found;
}

// What a team has for all rounds comes first, then the slots of one channel after the other.
void KernelMemory::allocate_all(const Plan& plan) {
  std::vector<SharedBuffer*> of_team;
  channel(kSlots);
  for (SharedBuffer& space : spaces_) (space.of_team ? of_team : channel(space.channel).spaces).push_back(&space);
  std::int64_t offset = allocate(of_team);
  bytes_ = plan.copies * offset;
  const std::int64_t mbarriers = plan.goes_ahead() ? warp::kSlotMbarriers : 0;
  for (PlannedChannel& channel : channels_) {
    channel.offset = offset;
    channel.bytes = allocate(channel.spaces);
    for (SharedBuffer* space : channel.spaces) space->offset += offset;
    offset += channel.bytes;
    bytes_ += plan.slots() * (channel.bytes + mbarriers);
  }
}

}  // namespace wkvc
