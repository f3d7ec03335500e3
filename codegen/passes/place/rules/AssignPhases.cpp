#include "codegen/passes/place/rules/AssignPhases.h"

#include "codegen/passes/place/Roundings.h"
#include "codegen/passes/place/rules/Owners.h"

using namespace mlir;

namespace wkvc {

namespace {

class Assigner {
 public:
  explicit Assigner(Placement& placement, int count = 1) : placement_(placement), count_(count) {}

  // In this phase, or in a later one if an operand has to cross to it.
  void place(Operation* op, int phase) {
    for (Value operand : op->getOperands())
      if (!is_source(operand)) phase = std::max(phase, placement_.of(operand).phase + crosses(operand, op, placement_));
    placement_.move(op, phase);
    count_ = std::max(count_, phase + 1);
  }

  // Of value rows, or of all others.
  void place_all(bool rows, const Waits& waits, Wait wait, int phase) {
    for (Operation& op : placement_.body())
      if ((placement_.of(&op).owner == Owner::rows) == rows && waits.lookup(&op) == wait) place(&op, phase);
  }

  int count() const { return count_; }

 private:
  Placement& placement_;
  int count_;
};

// What rows make of inputs alone comes where they need it.
void delay_rows(Placement& placement, const Waits& waits) {
  for (Operation& op : llvm::reverse(placement.body())) {
    const bool ready = placement.of(&op).owner == Owner::rows && waits.lookup(&op) == Wait::for_inputs;
    if (!ready || op.getNumResults() != 1) continue;
    int phase = placement.first_after_rows() - 1;
    for (Operation* user : op.getUsers()) phase = std::min(phase, placement.of(user).phase);
    placement.move(&op, phase);
  }
}

}  // namespace

void assign_phases(Placement& placement) {
  Assigner assigner(placement);
  for (Operation& op : placement.body()) {
    auto round = dyn_cast<chunk::RoundOp>(op);
    assigner.place(&op, round && takes_scale_of_state(round) ? 1 : 0);  // the state's maximum crosses
  }
  placement.division().whole = assigner.count();
}

void move_to(Placement& placement, const llvm::DenseMap<Operation*, int>& phases) {
  Assigner assigner(placement, placement.phases());
  for (Operation& op : placement.body()) assigner.place(&op, std::max(placement.of(&op).phase, phases.lookup(&op)));
  Phases& division = placement.division();
  (placement.is_by_teams() ? division.finish : division.whole) += assigner.count() - placement.phases();
}

bool are_independent(const Placement& placement, const Waits& waits) {
  if (!placement.program().getPlain() || placement.division().states != 2) return false;
  return llvm::none_of(placement.body(), [&](Operation& op) {
    return placement.of(&op).owner == Owner::rows && waits.lookup(&op) == Wait::for_second_state &&
           llvm::any_of(op.getOperands(),
                        [&](Value x) { return waits.lookup(x.getDefiningOp()) == Wait::for_first_state; });
  });
}

void assign_phases_of_teams(Placement& placement, const Waits& waits) {
  Assigner assigner(placement);
  Phases& phases = placement.division();
  assigner.place_all(/*rows=*/false, waits, Wait::for_inputs, 0);
  phases.prepare = assigner.count();
  assigner.place_all(/*rows=*/true, waits, Wait::for_inputs, phases.prepare);
  assigner.place_all(/*rows=*/true, waits, Wait::for_first_state, phases.prepare);
  assigner.place_all(/*rows=*/true, waits, Wait::for_second_state, phases.prepare + 1);
  phases.states = assigner.count() - phases.prepare;
  phases.together = are_independent(placement, waits);
  for (Operation& op : placement.body())
    if (placement.of(&op).owner != Owner::rows && waits.lookup(&op) != Wait::for_inputs)
      assigner.place(&op, placement.first_after_rows());
  delay_rows(placement, waits);
  phases.finish = assigner.count() - placement.first_after_rows();
}

}  // namespace wkvc
