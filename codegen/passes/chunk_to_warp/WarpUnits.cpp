// The unit that gradients of plain backward kernels are in: how they come into it and out of it.
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk/Factors.h"
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
  auto product = result.getDefiningOp<chunk::MulOp>();
  if (last_factor(product)) return tile(result);
  auto factor = factor_going_out(result);
  Value x = create<warp::TimesUnitOp>(tile(factor ? product.getX() : result), unit_, /*over=*/false,
                                      /*of_state=*/false, factor);
  if (factor) set_name(x, name_of(result));
  return x;
}

// What a gradient is multiplied by last, which the unit takes; null if it is no number.
FloatAttr WarpBuilder::factor_going_out(Value result) const {
  auto product = result.getDefiningOp<chunk::MulOp>();
  auto factor = unit_ && goes_out(product) ? number(product.getY()) : chunk::ConstantOp();
  return factor ? b_.getF32FloatAttr(static_cast<float>(factor.getValue().convertToDouble())) : FloatAttr();
}

// Of a power of two: its exponent, if that is a difference from a row or a number, or of one.
static chunk::SubOp difference_from_row(Value x) {
  auto power = x.getDefiningOp<chunk::Exp2Op>();
  auto difference = power ? power.getX().getDefiningOp<chunk::SubOp>() : chunk::SubOp();
  if (!difference || (chunk::rows(difference.getX()) == 1) == (chunk::rows(difference.getY()) == 1)) return {};
  return difference;
}

// What a gradient is multiplied by last, which takes the unit in fewer instructions: a power of two, whose row takes
// its exponent, or what several gradients are multiplied by, where nothing else is. Null if there is none, or it is
// there already.
Value WarpBuilder::last_factor(chunk::MulOp product) const {
  if (!unit_ || owner_ != Owner::slab || !goes_out(product)) return {};
  auto goes_out_here = [&](Operation* user) { return placement_.of(user).phase != phase_ || goes_out(user); };
  for (Value x : product->getOperands()) {
    if (is_source(x) || of_.shared.find(x)) continue;
    if (difference_from_row(x) && llvm::all_of(x.getUsers(), goes_out_here)) return x;
    if (!x.hasOneUse() && x.getType() == product.getType() && llvm::all_of(x.getUsers(), goes_out)) return x;
  }
  return {};
}

// The difference plus the exponent of the unit.
Value WarpBuilder::plus_unit(chunk::SubOp difference) {
  Type type = type_of(difference.getResult());
  const bool below_row = chunk::rows(difference.getX()) == 1;
  if (auto constant = number(below_row ? difference.getX() : difference.getY())) {
    const auto value = static_cast<float>(constant.getValue().convertToDouble());
    Value x = below_row ? call("neg", tile(difference.getY()), type) : tile(difference.getX());
    return create<warp::PlusExponentOp>(x, unit_, /*less=*/false, b_.getF32FloatAttr(below_row ? value : -value));
  }
  Value x = tile(difference.getX()), y = tile(difference.getY());
  Value& row = below_row ? x : y;
  row = create<warp::PlusExponentOp>(row, unit_, /*less=*/!below_row, FloatAttr());
  return call("sub", {x, y}, type);
}

Value WarpBuilder::factor_times_unit(Value factor) {
  if (Value found = last_factors_.lookup(factor)) return found;
  Value result;
  if (auto difference = difference_from_row(factor)) {
    result = call("exp2", plus_unit(difference), type_of(factor));
  } else {
    result = create<warp::TimesUnitOp>(tile(factor), unit_, /*over=*/false, /*of_state=*/false, FloatAttr());
  }
  return last_factors_[factor] = result;
}

}  // namespace wkvc
