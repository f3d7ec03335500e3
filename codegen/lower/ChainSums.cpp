#include "codegen/lower/ChainSums.h"

#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

namespace {

// The sum y + p that `sum` adds to something of the same shape, if only `sum` reads it.
chunk::AddOp sum_with_contraction(chunk::AddOp sum) {
  auto inner = sum.getY().getDefiningOp<chunk::AddOp>();
  if (!inner || !inner->hasOneUse() || inner.getType() != sum.getType()) return {};
  if (inner.getX().getType() != sum.getType() || sum.getX().getType() != sum.getType()) return {};
  auto dot = inner.getY().getDefiningOp<chunk::DotOp>();
  return dot && dot->hasOneUse() ? inner : chunk::AddOp();
}

}  // namespace

void chain_sums(chunk::ProgramOp program) {
  for (auto sum : llvm::make_early_inc_range(program.getBody().getOps<chunk::AddOp>())) {
    while (auto inner = sum_with_contraction(sum)) {
      OpBuilder b(sum);
      Value before = chunk::AddOp::create(b, sum.getLoc(), sum.getType(), sum.getX(), inner.getX());
      sum.getXMutable().assign(before);
      sum.getYMutable().assign(inner.getY());
      inner.erase();
      sum = before.getDefiningOp<chunk::AddOp>();
    }
  }
}

}  // namespace wkvc
