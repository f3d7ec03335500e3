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
