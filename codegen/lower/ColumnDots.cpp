#include "codegen/lower/ColumnDots.h"

#include "codegen/lower/Axes.h"

using namespace mlir;

namespace wkvc {

namespace {

// The operand that contractions read in place of the value.
chunk::RoundOp rounded(Value x) {
  for (Operation* user : x.getUsers())
    if (auto round = dyn_cast<chunk::RoundOp>(user)) return round;
  return {};
}

}  // namespace

void contract_columns(chunk::ProgramOp program) {
  Spaces spaces = infer_spaces(program);
  for (auto sum : llvm::make_early_inc_range(program.getBody().getOps<chunk::SumRowsOp>())) {
    auto product = sum.getX().getDefiningOp<chunk::MulOp>();
    if (!product || spaces.lookup(product.getX()) != Space{Axis::value, Axis::key}) continue;
    chunk::RoundOp x = rounded(product.getX()), y = rounded(product.getY());
    if (!x || !y || x.getType() != y.getType()) continue;
    for (chunk::RoundOp round : {x, y})
      if (sum->isBeforeInBlock(round)) round->moveBefore(sum);
    OpBuilder b(sum);
    Value dots = chunk::ColumnDotsOp::create(b, sum.getLoc(), sum.getType(), x, y);
    sum.replaceAllUsesWith(dots);
    sum.erase();
    if (product->use_empty()) product.erase();
  }
}

}  // namespace wkvc
