#include "codegen/passes/place/rules/ValueSlabs.h"

#include <llvm/ADT/DenseSet.h>

using namespace mlir;

namespace wkvc {

namespace {

// Elementwise C×V values of inputs alone, and their sums over values. On the way a row of a parameter is given to
// everyone: it is made wherever it is needed.
llvm::DenseSet<Operation*> find_elementwise(Placement& placement, const Waits& waits) {
  llvm::DenseSet<Operation*> elementwise;
  const auto is_ready = [&](Value x) {
    return is_source(x) || placement.of(x).owner == Owner::anyone || elementwise.contains(x.getDefiningOp());
  };
  for (Operation& op : placement.body()) {
    if (waits.lookup(&op) != Wait::for_inputs || op.getNumResults() != 1 || is_source(op.getResult(0))) continue;
    const bool all_ready = llvm::all_of(op.getOperands(), is_ready);
    if (placement.space(op.getResult(0)) == Space{Axis::one, Axis::value} && is_elementwise(&op) && all_ready)
      placement.at(&op).owner = Owner::anyone;
    const bool is_sum = isa<chunk::SumColumnsOp>(op);
    const Value x = is_sum ? op.getOperand(0) : op.getResult(0);
    const bool along = placement.space(x) == Space{Axis::token, Axis::value};
    if (along && (is_elementwise(&op) || is_sum) && all_ready) elementwise.insert(&op);
  }
  return elementwise;
}

}  // namespace

void make_value_slabs(Placement& placement, const Waits& waits) {
  const llvm::DenseSet<Operation*> elementwise = find_elementwise(placement, waits);
  for (Operation& op : llvm::reverse(placement.body())) {
    // A program that only recomputes leaves inputs early, for others to be copied.
    const bool needed =
        isa<chunk::SumColumnsOp>(op) || placement.program().getRecompute() ||
        llvm::any_of(op.getUsers(), [&](Operation* user) { return placement.of(user).owner != Owner::rows; });
    if (!needed || !elementwise.contains(&op)) continue;
    placement.at(&op).owner = Owner::slab;
    placement.at(&op).columns = Columns::values;
  }
}

}  // namespace wkvc
