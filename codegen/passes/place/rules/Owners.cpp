#include "codegen/passes/place/rules/Owners.h"

#include "codegen/passes/chunk/TokenFactors.h"
#include "codegen/passes/place/KeptForFinish.h"
#include "codegen/passes/place/Slabs.h"

using namespace mlir;

namespace wkvc {

namespace {

// One number a token: of such inputs alone everyone computes it, else one warp. Value rows have one warp compute
// theirs: they wait for one another, and would wait for the inputs, too. So does what is made of states, where numbers
// are kept.
Owner owner_of_column(Operation* op, const Placement& placement) {
  if (isa<chunk::DiagonalOp>(op)) return Owner::matrix;
  if (isa<chunk::SumColumnsOp>(op)) return placement.of(op->getOperand(0)).owner;
  const bool everyone = llvm::all_of(op->getOperands(), [&](Value x) {
    return is_source(x) || (placement.of(x).owner == Owner::anyone && !x.getDefiningOp<chunk::SumColumnsOp>());
  });
  return everyone && !is_for_rows(op) && !is_kept_for_finish(op) ? Owner::anyone : Owner::matrix;
}

// C×C values of one number a token alone, as decays between tokens: each warp that makes a matrix with them makes them
// again, so that several warps may make matrices.
bool is_made_beside_matrices(Operation* op, const Placement& placement) {
  if (is_kept_for_finish(op) || (!is_elementwise(op) && !isa<chunk::TrilOp, chunk::CumsumOp>(op))) return false;
  const bool of_tokens = llvm::all_of(op->getOperands(), [&](Value x) {
    return isa<chunk::ConstantOp>(x.getDefiningOp()) ||
           (placement.of(x).owner == Owner::anyone && (!is_source(x) || chunk::columns(x) == 1));
  });
  return of_tokens && llvm::none_of(op->getUsers(), [](Operation* user) {
           return is_contraction(user) || isa<chunk::OutputOp, chunk::UnitLowerInverseOp>(user);
         });
}

}  // namespace

Owner owner_by_space(Operation* op, const Placement& placement) {
  const bool stores = isa<chunk::OutputOp, chunk::AccumulateOp>(op);
  if (isa<chunk::UpdateOp, chunk::UpdateSavedOp>(op)) return Owner::rows;
  if (isa<chunk::ConstantOp>(op)) return Owner::anyone;
  const Space space = placement.space(stores ? op->getOperand(0) : op->getResult(0));
  if (space == Space{Axis::token, Axis::token})
    return is_made_beside_matrices(op, placement) ? Owner::anyone : Owner::matrix;
  if (auto sum = dyn_cast<chunk::SumRowsOp>(op); sum && !is_source(sum.getX())) return placement.of(sum.getX()).owner;
  if (space.columns == Axis::key && space.rows != Axis::value) return Owner::slab;
  if (space.columns == Axis::value || space.rows == Axis::value) return Owner::rows;
  return stores ? Owner::matrix : owner_of_column(op, placement);
}

void assign_owners(Placement& placement) {
  for (Operation& op : placement.body()) placement.at(&op).owner = owner_by_space(&op, placement);
}

bool crosses(Value operand, Operation* user, const Placement& placement) {
  if (is_source(operand) || placement.of(operand).owner == Owner::anyone) return false;
  if (slab_axis(operand.getDefiningOp(), placement) != slab_axis(user, placement)) return true;
  const Owner from = placement.of(operand).owner, to = placement.of(user).owner;
  if (from != to || is_partial_sum(operand.getDefiningOp(), placement)) return true;
  return from == Owner::matrix && is_contraction(user);
}

bool are_of_one_warp(Value operand, Operation* user, const Placement& placement) {
  const ValuePlace &from = placement.of(operand), &to = placement.of(user);
  if (from.owner != Owner::matrix || to.owner != Owner::matrix || crosses(operand, user, placement)) return false;
  return from.phase == to.phase || !placement.is_by_teams() || to.phase < placement.first_after_rows();
}

}  // namespace wkvc
