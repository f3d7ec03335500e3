#include "codegen/passes/place/rules/Strips.h"

#include <llvm/Support/MathExtras.h>

#include "codegen/passes/place/Roundings.h"
#include "codegen/passes/place/Slabs.h"

using namespace mlir;

namespace wkvc {

namespace {

// An input, a parameter, a number alone, or made in slabs: what there are loads for.
bool is_in_strips(Value x, const Placement& placement) {
  if (auto constant = x.getDefiningOp<chunk::ConstantOp>()) return !constant.getDims();
  if (isa<chunk::InputOp, chunk::ParameterOp>(x.getDefiningOp())) return true;
  return placement.of(x).owner == Owner::slab && !is_partial_sum(x.getDefiningOp(), placement) && chunk::rows(x) > 1;
}

// A row that is there already: one from shared memory would lie like those beside blocks.
bool is_row_beside(Value x, Operation* user, const Placement& placement) {
  return !is_source(x) && placement.of(x).owner == Owner::slab && placement.of(x).phase == placement.of(user).phase;
}

// What strips.h and the elementwise functions have.
bool has_strips(Operation* op) {
  if (isa<chunk::AddOp>(op))
    return llvm::none_of(op->getOperands(), [](Value x) { return isa<chunk::DotOp>(x.getDefiningOp()); });
  return isa<chunk::NegOp, chunk::ExpOp, chunk::Exp2Op, chunk::LogOp, chunk::SigmoidOp, chunk::TanhOp,
             chunk::SoftplusOp, chunk::ReluOp, chunk::SqrtOp, chunk::ReciprocalOp, chunk::SubOp, chunk::MulOp,
             chunk::AtLeastOp, chunk::ExceedsOp, chunk::NotBelowOp, chunk::WidenOp, chunk::RoundOp, chunk::KeepValidOp,
             chunk::CumsumOp, chunk::RowOp, chunk::SumColumnsOp, chunk::LastOfOtherHalfOp, chunk::SelectHalvesOp,
             chunk::UpperRowsOp, chunk::LowerRowsOp>(op);
}

// Of values each 16 columns have a scale of their own, where an operand's is none that all warps know.
bool has_scale_of_block(Operation* op, const Placement& placement) {
  auto round = dyn_cast<chunk::RoundOp>(op);
  return round && has_own_scale(round) && slab_axis(op, placement) == Axis::value;
}

// A row beside a column makes a tile that begins as zeros, for which there are no strips.
bool is_of_vectors(Operation* op) {
  return op->getNumOperands() == 2 && op->getNumResults() == 1 &&
         llvm::none_of(op->getOperandTypes(), [&](Type x) { return x == op->getResult(0).getType(); });
}

bool fits(Operation* op, const Placement& placement) {
  return has_strips(op) && !is_of_vectors(op) && !has_scale_of_block(op, placement) &&
         llvm::all_of(op->getOperands(),
                      [&](Value x) { return is_in_strips(x, placement) || is_row_beside(x, op, placement); });
}

}  // namespace

bool fits_strips(const Placement& placement) {
  const int64_t warps = placement.division().warps;
  const auto is_whole = [&](Axis axis) {
    const int64_t columns = extent_of(axis, placement);
    return columns % warps == 0 && llvm::is_contained({32, 64, 128}, columns / warps);
  };
  if (!placement.is_by_teams() || !is_whole(Axis::key)) return false;
  if (!llvm::isPowerOf2_64(placement.program().getChunk())) return false;
  return llvm::all_of(placement.body(), [&](Operation& op) {
    const bool source = op.getNumResults() && is_source(op.getResult(0));
    const ValuePlace& place = placement.of(&op);
    if (source || place.owner != Owner::slab || place.phase >= placement.first_of_rows()) return true;
    return fits(&op, placement) && (slab_axis(&op, placement) == Axis::key || is_whole(Axis::value));
  });
}

}  // namespace wkvc
