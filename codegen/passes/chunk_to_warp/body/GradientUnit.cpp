#include "codegen/passes/chunk_to_warp/body/GradientUnit.h"

using namespace mlir;

namespace wkvc {

bool has_unit(const BuildContext& c, Value input) {
  auto op = input.getDefiningOp<chunk::InputOp>();
  return c.unit && op && op.getGradientOf();
}

Value over_unit(const BuildContext& c, Value input, Value x) {
  if (!has_unit(c, input)) return x;
  return c.create<warp::TimesUnitOp>(x, c.unit, /*over=*/true, /*of_state=*/false, FloatAttr());
}

Value times_unit(const BuildContext& c, Value gradient) {
  if (!c.unit) return gradient;
  return c.create<warp::TimesUnitOp>(gradient, c.unit, /*over=*/false, /*of_state=*/false, FloatAttr());
}

}  // namespace wkvc
