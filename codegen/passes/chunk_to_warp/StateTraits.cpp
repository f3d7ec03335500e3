#include "codegen/passes/chunk_to_warp/StateTraits.h"

#include "codegen/passes/place/Roundings.h"

using namespace mlir;

namespace wkvc {

Operation* state_of(chunk::ProgramOp program, bool saved) {
  for (Operation& op : program.getBody().front())
    if (saved ? isa<chunk::SavedStateOp>(op) : isa<chunk::StateOp>(op)) return &op;
  return nullptr;
}

bool has_maximum(const PlacedProgram& of, bool saved) {
  Operation* state = state_of(of.program, saved);
  return state && of.shared.maxima().contains(chunk::symbol(state).str());
}

bool meets_first(const PlacedProgram& of, bool saved) {
  if (!has_maximum(of, saved)) return false;
  return llvm::all_of(chunk::ProgramOp(of.program).getBody().getOps<chunk::RoundOp>(), [&](chunk::RoundOp round) {
    const bool of_rows = of.placement.of(round.getResult()).owner == Owner::rows;
    bool in_step = of_rows && (!of.placement.is_shared(round.getResult()) || of.numbers.leaves_scale(round));
    return in_step || !is_bounded_by(round, state_of(of.program, saved));
  });
}

bool state_carries_scale(const PlacedProgram& of, bool saved) {
  Operation* state = state_of(of.program, saved);
  if (const SumScales* scales = of.find_sums(state); scales || saved) return scales;
  return !chunk::ProgramOp(of.program).getBackward() && can_carry_scale(state);
}

bool state_shares_scale(const PlacedProgram& of, bool saved) {
  const SumScales* scales = of.find_sums(state_of(of.program, saved));
  return scales && scales->of_block;
}

}  // namespace wkvc
