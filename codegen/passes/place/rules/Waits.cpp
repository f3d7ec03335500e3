#include "codegen/passes/place/rules/Waits.h"

using namespace mlir;

namespace wkvc {

Waits find_waits(const Placement& placement) {
  chunk::ProgramOp program = placement.program();
  Block& body = placement.body();
  const Wait for_state = body.getOps<chunk::SavedStateOp>().empty() ? Wait::for_first_state : Wait::for_second_state;
  Waits waits;
  for (Operation& op : body) {
    Wait wait = isa<chunk::StateOp, chunk::UpdateOp>(op)             ? for_state
                : isa<chunk::SavedStateOp, chunk::UpdateSavedOp>(op) ? Wait::for_first_state
                                                                     : Wait::for_inputs;
    for (Value x : op.getOperands()) wait = std::max(wait, waits.lookup(x.getDefiningOp()));
    // What is stored of slabs in a backward pass comes last: what it is made of need not be made before.
    const bool last = program.getBackward() && isa<chunk::OutputOp, chunk::AccumulateOp>(op) &&
                      placement.of(&op).owner == Owner::slab;
    waits[&op] = last ? std::max(wait, Wait::for_first_state) : wait;
  }
  return waits;
}

}  // namespace wkvc
