// Scales of operands and sums, and the unit of gradients.
#include <numeric>

#include "codegen/warp/verify/Shapes.h"

using namespace mlir;

namespace wkvc::warp {

LogicalResult TimesUnitOp::verify() { return getFactor() ? verify_finite(*this, *getFactor()) : success(); }
LogicalResult PlusExponentOp::verify() { return getNumber() ? verify_finite(*this, *getNumber()) : success(); }
LogicalResult TimesPowerOp::verify() { return verify_number(*this, "its exponent", getExponent(), -64, 64); }

LogicalResult RoundOp::verify() {
  if ((getScale() ? 1 : 0) + getOwn() + getInScale() + getAsIs() > 1)
    return emitOpError("has more than one of a scale given, one of its own and the one that x carries");
  if ((getSlope() && !getInScale()) || !getSlope() != !getOffset())
    return emitOpError("has bounds of other operands, slope and offset, only in the scale that x carries");
  if (has_scale(*this) && !may_have_scale(element_of(getResult())))
    return emitOpError("only f16 operands carry a scale");
  if (failed(verify_folded(*this, getResult(), /*part=*/false))) return failure();
  return expect_shape(*this, getResult(), shape_of(getX())[0], shape_of(getX())[1]);
}

LogicalResult WithScaleOp::verify() {
  if (shape_of(getX())[0] > 1 && shape_of(getX())[1] > 1) return success();
  return emitOpError("takes a tile, not ") << getX().getType();
}

LogicalResult WidenOverOp::verify() {
  return expect_shape(*this, getResult(), shape_of(getX())[0], shape_of(getX())[1]);
}

LogicalResult ScaleForOp::verify() {
  if (getSlots().empty()) return emitOpError("needs the maxima of at least one tensor");
  if (auto counts = getCounts()) {
    bool positive = llvm::all_of(*counts, [](int64_t count) { return count > 0; });
    if (!positive ||
        std::accumulate(counts->begin(), counts->end(), int64_t{0}) != static_cast<int64_t>(getSlots().size()))
      return emitOpError("needs counts above 0 that add up to its slots");
  }
  if (getFactor().isNegative()) return emitOpError("has a negative factor");
  return verify_finite(*this, getFactor());
}

LogicalResult OwnScaleOp::verify() {
  if (getFactor().isNegative()) return emitOpError("has a negative factor");
  return verify_finite(*this, getFactor());
}

LogicalResult ScaleOfOp::verify() {
  if (auto buffer = getX().getDefiningOp<BufferOp>(); buffer && buffer.getScale() && !buffer.getSlabs())
    return success();
  return emitOpError("takes a buffer with one scale");
}

LogicalResult RoundBesideOp::verify() {
  auto round = getState().getDefiningOp<RoundOp>();
  if (!round || !has_scale(round)) return emitOpError("takes a state that was rounded with a scale");
  if (!element_of(getResult()).isF16()) return emitOpError("only f16 operands carry a scale");
  const bool half = element_of(getX()).isF16(), loaded = getX().getDefiningOp<LoadOp>();
  if (getScale() ? !half || !loaded : !element_of(getX()).isF32() && !(half && has_scale(getX())))
    return emitOpError("takes f32, f16 that carries a scale, or f16 that was loaded and the scale given");
  return expect_shape(*this, getResult(), shape_of(getX())[0], shape_of(getX())[1]);
}

static LogicalResult verify_one_number(Operation* op, Value floats) {
  if (shape_of(floats)[0] == 1) return success();
  return op->emitOpError() << "takes one float, not " << floats.getType();
}

LogicalResult LeaveScaleOp::verify() {
  if (!has_scale(getX())) return emitOpError("takes an operand that was rounded with a scale");
  return verify_one_number(*this, getTo());
}

LogicalResult BoundOp::verify() {
  if (getFactor().isNegative()) return emitOpError("has a negative factor");
  return verify_finite(*this, getFactor());
}

LogicalResult StoreNumberOp::verify() { return verify_one_number(*this, getTo()); }
LogicalResult LoadNumberOp::verify() { return verify_one_number(*this, getFrom()); }

}  // namespace wkvc::warp
