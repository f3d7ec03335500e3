#include "codegen/passes/warp/JoinedSums.h"

#include <mlir/IR/Builders.h>

#include "codegen/ir/Text.h"
#include "codegen/passes/warp/Differences.h"

using namespace mlir;

namespace wkvc {

static bool is_here(Operation* op, Operation* sum) {
  return op && op->hasOneUse() && op->getBlock() == sum->getBlock();
}

static void join(warp::CallOp sum, warp::ColumnDotsOp dots, warp::CallOp rows) {
  if (!is_here(dots, sum) || !is_here(rows, sum) || dots.getColumn() || dots.getRows()) return;
  dots->moveBefore(sum);
  dots.getRowsMutable().assign(rows.getX()[0]);
  set_name(dots.getResult(), name_of(sum.getResult()));
  sum.replaceAllUsesWith(dots.getResult());
  sum.erase();
  rows.erase();
}

void join_sums(warp::KernelOp kernel) {
  kernel.walk([](warp::CallOp sum) {
    if (sum.getFunction() != "add") return;
    for (int i : {0, 1}) {
      auto dots = sum.getX()[i].getDefiningOp<warp::ColumnDotsOp>();
      auto rows = call_of(sum.getX()[1 - i], "sum_rows");
      if (dots && rows) return join(sum, dots, rows);
    }
  });
}

}  // namespace wkvc
