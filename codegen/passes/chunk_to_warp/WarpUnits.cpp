// The unit that gradients of plain backward kernels are in: how they come into it and out of it.
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"

using namespace mlir;

namespace wkvc {

bool WarpBuilder::has_unit(Value input) const {
  auto op = input.getDefiningOp<chunk::InputOp>();
  return unit_ && op && op.getGradientOf();
}

Value WarpBuilder::over_unit(Value input, Value x) {
  if (!has_unit(input)) return x;
  return create<warp::TimesUnitOp>(x, unit_, /*over=*/true, /*of_state=*/false, FloatAttr());
}

Value WarpBuilder::times_unit(Value result) {
  if (!unit_) return tile(result);
  return create<warp::TimesUnitOp>(tile(result), unit_, /*over=*/false, /*of_state=*/false, FloatAttr());
}

}  // namespace wkvc
