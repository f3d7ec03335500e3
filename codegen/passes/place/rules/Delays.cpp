#include "codegen/passes/place/rules/Delays.h"

#include "codegen/passes/chunk/Factors.h"
#include "codegen/passes/place/KeptForFinish.h"
#include "codegen/passes/place/Slabs.h"
#include "codegen/passes/place/rules/AssignPhases.h"
#include "codegen/passes/place/rules/Owners.h"

using namespace mlir;

namespace wkvc {

void delay_slabs(Placement& placement) {
  for (Operation& op : llvm::reverse(placement.body())) {
    if (op.getNumResults() == 0 || placement.of(&op).owner != Owner::slab || op.use_empty()) continue;
    if (is_kept_factor(&op)) continue;
    int phase = placement.phases();
    for (Operation* user : op.getUsers()) {
      const bool local = placement.of(user).owner == Owner::slab && !crosses(op.getResult(0), user, placement);
      phase = std::min(phase, placement.of(local ? user : &op).phase);
    }
    placement.move(&op, phase);
  }
}

// The last phase in which slabs need a contraction that this value is made of in its phase. Values share operands, so
// what is `known` is not looked for again.
static int last_use_of_contractions(Value x, const Placement& placement, llvm::DenseMap<Value, int>& known) {
  if (auto found = known.find(x); found != known.end()) return found->second;
  Operation* op = x.getDefiningOp();
  const int phase = placement.of(x).phase;
  int last = phase;
  if (!is_source(x) && placement.of(x).owner == Owner::slab) {
    if (is_contraction(op) || is_accumulator(op)) {
      for (Operation* user : op->getUsers())
        if (placement.of(user).owner == Owner::slab) last = std::max(last, placement.of(user).phase);
    } else {
      for (Value operand : op->getOperands())
        if (placement.of(operand).phase == phase)
          last = std::max(last, last_use_of_contractions(operand, placement, known));
    }
  }
  return known[x] = last;
}

bool delay_sums(Placement& placement) {
  llvm::DenseMap<Operation*, int> delayed;
  llvm::DenseMap<Value, int> known;
  for (auto sum : placement.body().getOps<chunk::SumColumnsOp>()) {
    const ValuePlace& place = placement.of(sum.getResult());
    if (place.owner != Owner::slab || slab_axis(sum, placement) != Axis::key) continue;
    const int last = last_use_of_contractions(sum.getX(), placement, known);
    if (last > place.phase) delayed[sum] = last;
  }
  if (!delayed.empty()) move_to(placement, delayed);
  return !delayed.empty();
}

void delay_matrices(Placement& placement) {
  for (Operation& op : llvm::reverse(placement.body())) {
    const ValuePlace& place = placement.of(&op);
    if (place.owner != Owner::matrix || place.phase >= placement.first_of_rows() || op.getNumResults() != 1) continue;
    const bool late = !op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation* user) {
      return placement.of(user).phase - crosses(op.getResult(0), user, placement) >= placement.first_after_rows();
    });
    if (!late) continue;
    if (!is_kept_for_finish(&op))
      placement.move(&op, placement.first_after_rows());
    else if (chunk::columns(op.getResult(0)) > 1)
      placement.move(&op, placement.first_of_rows() - 1);
  }
}

void delay_columns(Placement& placement) {
  for (Operation& op : llvm::reverse(placement.body())) {
    const ValuePlace& place = placement.of(&op);
    const bool is_column = place.owner == Owner::matrix && is_elementwise(&op) && chunk::columns(op.getResult(0)) == 1;
    if (!is_column || place.phase < placement.first_after_rows() || op.use_empty()) continue;
    int phase = placement.phases();
    for (Operation* user : op.getUsers())
      phase = std::min(phase, placement.of(user).phase - crosses(op.getResult(0), user, placement));
    if (phase > place.phase) placement.move(&op, phase);
  }
}

}  // namespace wkvc
