#include "codegen/lower/Strips.h"

#include <llvm/Support/MathExtras.h>

using namespace mlir;

namespace wkvc {

namespace {

// A tile of inputs, a parameter, a number alone, or made in slabs: what there are loads for.
bool is_in_strips(Value x, const Placement& placement) {
  if (auto constant = x.getDefiningOp<chunk::ConstantOp>()) return !constant.getDims();
  if (isa<chunk::InputOp>(x.getDefiningOp())) return chunk::columns(x) > 1;
  if (isa<chunk::ParameterOp>(x.getDefiningOp())) return true;
  return placement.of(x).owner == Owner::slab && !is_partial_sum(x.getDefiningOp(), placement) && chunk::rows(x) > 1;
}

// A row that is there already: one from shared memory would lie like those beside blocks.
bool is_row_beside(Value x, Operation* user, const Placement& placement) {
  return !is_source(x) && placement.of(x).owner == Owner::slab && placement.of(x).phase == placement.of(user).phase;
}

// What strips.h and the elementwise functions have.
bool has_strips(Operation* op) {
  if (auto sum = dyn_cast<chunk::CumsumOp>(op)) return !sum.getReverse();
  if (isa<chunk::AddOp>(op))
    return llvm::none_of(op->getOperands(), [](Value x) { return isa<chunk::DotOp>(x.getDefiningOp()); });
  return isa<chunk::NegOp, chunk::ExpOp, chunk::Exp2Op, chunk::LogOp, chunk::SigmoidOp, chunk::TanhOp,
             chunk::SoftplusOp, chunk::ReluOp, chunk::SqrtOp, chunk::ReciprocalOp, chunk::SubOp, chunk::MulOp,
             chunk::AtLeastOp, chunk::ExceedsOp, chunk::WidenOp, chunk::RoundOp, chunk::KeepValidOp, chunk::RowOp,
             chunk::SumColumnsOp, chunk::LevelExponentsOp, chunk::UpperRowsOp, chunk::LowerRowsOp>(op);
}

bool fits(Operation* op, const Placement& placement) {
  return has_strips(op) && llvm::all_of(op->getOperands(), [&](Value x) {
           return is_in_strips(x, placement) || is_row_beside(x, op, placement);
         });
}

}  // namespace

int64_t slab_width(chunk::ProgramOp program, const Placement& placement, int warps) {
  constexpr int64_t kBlock = 16;
  int64_t keys = program.getKeyDim(), width = keys / warps;
  bool whole = width * warps == keys && llvm::is_contained({32, 64, 128}, width);
  if (!whole || !llvm::isPowerOf2_64(program.getChunk())) return kBlock;
  for (Operation& op : program.getBody().front()) {
    bool source = op.getNumResults() && is_source(op.getResult(0));
    if (!source && placement.of(&op).owner == Owner::slab && !fits(&op, placement)) return kBlock;
  }
  return width;
}

}  // namespace wkvc
