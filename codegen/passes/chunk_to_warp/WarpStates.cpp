// The states that are taken through chunks, and the scales that they carry on the way.
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"
#include "codegen/passes/place/Roundings.h"

using namespace mlir;

namespace wkvc {

Operation* WarpBuilder::state_of(bool saved) const {
  for (Operation& op : chunk::ProgramOp(program_).getBody().front())
    if (saved ? isa<chunk::SavedStateOp>(op) : isa<chunk::StateOp>(op)) return &op;
  return nullptr;
}

Value WarpBuilder::maximum_of_state(bool saved) const {
  Operation* state = state_of(saved);
  return state ? buffers_.maximum(chunk::symbol(state)) : Value();
}

// A state that is taken through a round lies in shared memory only later, where others than its rows read it.
void WarpBuilder::publish_state(bool saved) {
  owner_ = Owner::rows;
  Value slots = maximum_of_state(saved);
  if (!slots) return;
  create<warp::PublishMaxOp>(plan_.by_teams() ? state_ : tile(state_of(saved)->getResult(0)), slots);
}

bool WarpBuilder::meets_first(bool saved) const {
  if (!shares_maximum(saved)) return false;
  return llvm::all_of(chunk::ProgramOp(program_).getBody().getOps<chunk::RoundOp>(), [&](chunk::RoundOp round) {
    const bool of_rows = placement_.of(round.getResult()).owner == Owner::rows;
    bool in_step = of_rows && (!placement_.is_shared(round.getResult()) || of_.numbers.leaves_scale(round));
    return in_step || !is_bounded_by(round, state_of(saved));
  });
}

const SumScales* WarpBuilder::sum_scales_of(Operation* state) const {
  auto found = llvm::find_if(of_.sums, [&](const SumScales& scales) { return scales.state == state; });
  return found == of_.sums.end() ? nullptr : &*found;
}

bool WarpBuilder::state_carries_scale(bool saved) const {
  Operation* state = state_of(saved);
  if (const SumScales* scales = sum_scales_of(state); scales || saved) return scales;
  return !chunk::ProgramOp(program_).getBackward() && can_carry_scale(state);
}

bool WarpBuilder::state_shares_scale(bool saved) const {
  const SumScales* scales = sum_scales_of(state_of(saved));
  return scales && scales->of_block;
}

// First: other operands take their scale from it.
void WarpBuilder::round_state() {
  if (taken_->of_block) {
    Value maxima = buffers_.maximum(chunk::symbol(taken_->state));
    std::string name = (name_of(taken_->state->getResult(0)) + "_fitting").str();
    state_ = create<warp::FitScaleOp>(state_, maxima, slope_, offset_);
    set_name(state_, name);
    scaled_.insert(state_);
    registers_[taken_->state->getResult(0)] = state_;
  }
  for (chunk::RoundOp round : taken_->roundings) {
    compute(round);
    state_operand_ = registers_[round.getResult()];
  }
}

// Of operands in the state's scale, for those who read them from shared memory.
void WarpBuilder::leave_scales() {
  if (!taken_) return;
  for (auto round : program_.getBody().getOps<chunk::RoundOp>())
    if (of_.numbers.leaves_scale(round) && placement_.of(round.getResult()).phase == phase_)
      create<warp::LeaveScaleOp>(registers_[round.getResult()], buffers_.number(*of_.numbers.name_of_scale(round)));
}

}  // namespace wkvc
