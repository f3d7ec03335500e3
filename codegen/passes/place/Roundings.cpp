#include "codegen/passes/place/Roundings.h"

#include <llvm/ADT/DenseSet.h>

using namespace mlir;

namespace wkvc {

bool has_bound(chunk::RoundOp round) { return round.getBound() && !round.getBound()->empty(); }
bool has_own_scale(chunk::RoundOp round) { return round.getBound() && round.getBound()->empty(); }

bool is_bounded_by(chunk::RoundOp round, Operation* state) {
  return round.getBound() && llvm::is_contained(round.getBound()->getAsValueRange<StringAttr>(), chunk::symbol(state));
}

Value bounding_state(chunk::RoundOp round) {
  for (Operation& op : *round->getBlock())
    if (isa<chunk::StateOp, chunk::SavedStateOp>(op) && is_bounded_by(round, &op)) return op.getResult(0);
  return {};
}

namespace {

// Of the state's shape, by products with rows or columns.
bool is_made_of(Value x, Value state) {
  if (x == state) return true;
  auto product = x.getDefiningOp<chunk::MulOp>();
  return product && x.getType() == state.getType() &&
         (is_made_of(product.getX(), state) || is_made_of(product.getY(), state));
}

// Contractions over keys need one warp's rows alone, contractions over values those of all warps.
bool stays_in_its_warp(chunk::RoundOp round) {
  return llvm::all_of(round->getUses(), [](OpOperand& use) {
    auto dot = dyn_cast<chunk::DotOp>(use.getOwner());
    return dot && (use.getOperandNumber() == 0 ? dot.getXDim() : dot.getYDim()) == 1;
  });
}

}  // namespace

Value rounded_state(chunk::RoundOp round) {
  Value state = bounding_state(round);
  return state && round.getBound()->size() == 1 && is_made_of(round.getX(), state) ? state : Value();
}

Value state_of_scale(chunk::RoundOp round) {
  // A backward pass takes the same scales whichever gradients are asked for, so that they have the same bytes.
  auto program = round->getParentOfType<chunk::ProgramOp>();
  if (program.getBackward() && !program.getSummary()) return {};
  return stays_in_its_warp(round) ? rounded_state(round) : Value();
}

bool takes_scale_of_state(chunk::RoundOp round) { return bounding_state(round) && !state_of_scale(round); }

bool can_carry_scale(Operation* state) {
  llvm::DenseSet<Value> sums{state->getResult(0)};
  bool is_rounded = false, updates = false;
  for (Operation& op : *state->getBlock()) {
    if (llvm::none_of(op.getOperands(), [&](Value x) { return sums.contains(x); })) continue;
    Value last = op.getOperands().back(),
          other = op.getNumOperands() == 2 && sums.contains(last) ? op.getOperand(0) : last;
    bool by_row = isa<chunk::MulOp>(op) && chunk::rows(other) == 1 && !sums.contains(other);
    bool of_product = isa<chunk::AddOp>(op) && last.getDefiningOp<chunk::DotOp>() && last.hasOneUse();
    bool update = isa<chunk::UpdateOp, chunk::UpdateSavedOp>(op);
    auto round = dyn_cast<chunk::RoundOp>(op);
    if (by_row || of_product) sums.insert(op.getResult(0));
    is_rounded |= static_cast<bool>(round);
    updates |= update;
    if (!by_row && !of_product && !(round && rounded_state(round)) && !update) return false;
  }
  return is_rounded && updates;
}

}  // namespace wkvc
