#include "codegen/rec/Dependence.h"

#include "llvm/ADT/DenseSet.h"

namespace wkvc::rec {

Dependences::Dependences(RecurrenceOp recurrence) {
  for (mlir::Operation& op : recurrence.getBody().front())
    if (op.getNumResults() == 1) known_[op.getResult(0)] = result_of(op);
}

Dependence Dependences::result_of(mlir::Operation& op) const {
  if (llvm::isa<StateOp>(op)) return Dependence::affine;
  Dependence most = Dependence::none;
  for (mlir::Value operand : op.getOperands()) most = std::max(most, (*this)[operand]);
  if (most == Dependence::none || llvm::isa<AddOp, SubOp, NegOp, AssumeOp, BroadcastOp, CastOp>(op)) return most;
  // A product is linear in each factor.
  if (!llvm::isa<MulOp, ScaleOp, DiagMulOp, DotOp, OuterOp>(op)) return Dependence::nonlinear;
  const bool both = llvm::none_of(op.getOperands(), [&](auto x) { return (*this)[x] == Dependence::none; });
  return both ? Dependence::nonlinear : most;
}

bool contracts_state(RecurrenceOp recurrence) {
  const Dependences dependences(recurrence);
  llvm::SmallVector<mlir::Value> open;
  for (auto update : recurrence.getBody().getOps<UpdateOp>()) open.push_back(update.getNext());
  llvm::DenseSet<mlir::Operation*> seen;
  while (!open.empty()) {
    mlir::Operation* op = open.pop_back_val().getDefiningOp();
    if (!seen.insert(op).second) continue;
    const bool of_state = dependences[op->getResult(0)] != Dependence::none;
    if (of_state && llvm::isa<DotOp>(op)) return true;
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

}  // namespace wkvc::rec
