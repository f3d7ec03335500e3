#include "codegen/passes/place/UntiedSums.h"

#include <llvm/ADT/MapVector.h>

#include "codegen/passes/place/Placing.h"
#include "codegen/passes/place/rules/MatrixWarps.h"
#include "codegen/passes/place/rules/Owners.h"

using namespace mlir;

namespace wkvc {

// Returns whether an operation makes a number of each token of what no warp has in registers.
static bool is_of_loaded_numbers(Operation* op, const Placement& placement) {
  const ValuePlace& place = placement.of(op);
  if (place.owner != Owner::matrix || place.phase < placement.first_after_rows()) return false;
  return is_elementwise(op) && chunk::columns(op->getResult(0)) == 1 &&
         llvm::none_of(op->getOperands(), [&](Value x) { return are_of_one_warp(x, op, placement); }) &&
         llvm::all_of(op->getUsers(), [&](Operation* user) { return placement.of(user).owner == Owner::matrix; });
}

// Gives all readers that are not of the first one's group copies, one for each group.
static void repeat(Operation* op, const MatrixGroups& groups) {
  llvm::MapVector<Operation*, llvm::SmallVector<OpOperand*>> uses;  // by leader
  for (OpOperand& use : op->getUses()) uses[groups.getLeaderValue(use.getOwner())].push_back(&use);
  for (auto& [leader, of_group] : llvm::drop_begin(uses)) {
    Operation* copy = OpBuilder(op).clone(*op);
    for (OpOperand* use : of_group) use->set(copy->getResult(0));
  }
}

void untie_sums(chunk::ProgramOp program, const Plan& plan) {
  const Placement placement = place_values(program, plan.team_warps, /*by_teams=*/true);
  if (matrix_warps(placement) == 1) return;
  llvm::SmallVector<Operation*> repeatable;
  for (Operation& op : placement.body())
    if (is_of_loaded_numbers(&op, placement)) repeatable.push_back(&op);
  const MatrixGroups groups = matrix_groups(placement, {repeatable.begin(), repeatable.end()});
  for (Operation* op : repeatable) repeat(op, groups);
}

}  // namespace wkvc
