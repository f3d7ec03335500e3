#include "codegen/passes/chunk/ColumnDots.h"

#include "codegen/chunk/Axes.h"
#include "codegen/chunk/DropUnused.h"
#include "codegen/ir/Text.h"

using namespace mlir;

namespace wkvc {

namespace {

// The operand that contractions read in place of the value.
chunk::RoundOp rounded(Value x) {
  for (Operation* user : x.getUsers())
    if (auto round = dyn_cast<chunk::RoundOp>(user)) return round;
  return {};
}

// A factor of the product: what contractions read of it, and a row that it is multiplied by, if there is one.
struct Factor {
  chunk::RoundOp operand;
  Value row;
};
Factor factor_of(Value x) {
  if (auto round = rounded(x)) return {round, {}};
  auto product = x.getDefiningOp<chunk::MulOp>();
  if (product && chunk::rows(product.getY()) == 1) return {rounded(product.getX()), product.getY()};
  return {};
}

}  // namespace

void contract_columns(chunk::ProgramOp program) {
  Spaces spaces = infer_spaces(program);
  for (auto sum : llvm::make_early_inc_range(program.getBody().getOps<chunk::SumRowsOp>())) {
    auto product = sum.getX().getDefiningOp<chunk::MulOp>();
    if (!product || spaces.lookup(product.getX()) != Space{Axis::value, Axis::key}) continue;
    Factor x = factor_of(product.getX()), y = factor_of(product.getY());
    if (!x.operand || !y.operand || x.operand.getType() != y.operand.getType()) continue;
    for (chunk::RoundOp round : {x.operand, y.operand})
      if (sum->isBeforeInBlock(round)) round->moveBefore(sum);
    OpBuilder b(sum);
    Value dots = chunk::ColumnDotsOp::create(b, b.getUnknownLoc(), sum.getType(), x.operand, y.operand);
    for (Value row : {x.row, y.row})
      if (row) dots = chunk::MulOp::create(b, b.getUnknownLoc(), sum.getType(), dots, row);
    set_name(dots, name_of(sum));
    sum.replaceAllUsesWith(dots);
    sum.erase();
  }
  drop_dead_values(program);
}

}  // namespace wkvc
