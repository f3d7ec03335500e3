#include "codegen/passes/chunk/PairGradients.h"

#include <llvm/ADT/SetVector.h>

#include "codegen/passes/chunk/FirstUser.h"

using namespace mlir;

namespace wkvc {

namespace {

bool is_over_keys(chunk::DotOp dot) { return dot.getXDim() == 1 && dot.getYDim() == 1; }

bool is_gradient(Operation* op) {
  auto dot = dyn_cast<chunk::DotOp>(op);
  return dot && dot.getWide() && !is_over_keys(dot);
}

bool makes_pairs(OpOperand& use) {
  auto dot = dyn_cast<chunk::DotOp>(use.getOwner());
  return dot && dot.getWide() && is_over_keys(dot);
}

// Moves the gradients, and everything that is made of them, to the end. All outputs follow, in their order.
void move_to_end(chunk::ProgramOp program) {
  llvm::SetVector<Operation*> last;
  for (Operation& op : program.getBody().front()) {
    const bool is_made_of_last =
        llvm::any_of(op.getOperands(), [&](Value x) { return last.contains(x.getDefiningOp()); });
    if (is_gradient(&op) || isa<chunk::OutputOp>(op) || is_made_of_last) last.insert(&op);
  }
  Block& body = program.getBody().front();
  for (Operation* op : last) op->moveBefore(&body, body.end());
}

// Returns whether a rounding makes an operand of gradients from a product of an input and a decay.
bool is_operand(chunk::RoundOp round) {
  return round.getX().getDefiningOp<chunk::MulOp>() && llvm::any_of(round->getUsers(), is_gradient);
}

// Moves a product, and the factor that only such products have, to where a contraction reads the product first.
void move_with_factor(Operation* op) {
  if (!isa_and_nonnull<chunk::WidenOp, chunk::RoundOp, chunk::MulOp, chunk::Exp2Op, chunk::SubOp>(op)) return;
  move_to_first_user(op);
  for (Value operand : op->getOperands()) move_with_factor(operand.getDefiningOp());
}

}  // namespace

void delay_pair_gradients(chunk::ProgramOp program) {
  if (!program.getBackward() || !program.getPlain()) return;
  llvm::SmallVector<chunk::RoundOp> operands;
  for (auto round : program.getBody().getOps<chunk::RoundOp>())
    if (is_operand(round)) operands.push_back(round);
  if (operands.empty()) return;
  move_to_end(program);
  for (chunk::RoundOp operand : operands) {
    if (llvm::any_of(operand->getUses(), makes_pairs)) {
      auto again = cast<chunk::RoundOp>(OpBuilder(operand).clone(*operand));
      operand.getResult().replaceUsesWithIf(again.getResult(), [](OpOperand& use) { return !makes_pairs(use); });
      operand = again;
    }
    move_with_factor(operand);
    for (Operation* user : llvm::to_vector(operand->getUsers())) move_with_factor(user);
  }
}

}  // namespace wkvc
