// What slabs in strips compute otherwise than slabs in blocks.
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"

using namespace mlir;

namespace wkvc {

// An operand x over its scale, if it is an input times something else: the input takes the scale.
Value WarpBuilder::over_scale(Value x, Value scale) {
  if (auto widen = x.getDefiningOp<chunk::WidenOp>()) {
    if (!isa<chunk::InputOp>(widen.getX().getDefiningOp())) return {};
    Value& over = over_[{x, scale}];
    if (over) return over;
    over = create<warp::WidenOverOp>(type_of(x), tile(widen.getX()), scale);
    set_name(over, (name_of(widen.getX()) + "_over").str());
    return over;
  }
  auto product = x.getDefiningOp<chunk::MulOp>();
  if (!product) return {};
  for (auto [factor, other] : {std::pair{product.getX(), product.getY()}, {product.getY(), product.getX()}}) {
    Value over = factor.getType() == x.getType() ? over_scale(factor, scale) : Value();
    if (!over) continue;
    chunk::ConstantOp constant = number(other);
    Value result =
        constant ? call("mul_constant", over, type_of(x), static_cast<float>(constant.getValue().convertToDouble()))
                 : call("mul", {over, tile(other)}, type_of(x));
    set_name(result, name_of(x));
    return result;
  }
  return {};
}

// 2^(m - L) of a row m where there is L - m, too: negating that costs nothing.
Value WarpBuilder::negated_exp2(chunk::Exp2Op op) {
  auto below_row = op.getX().getDefiningOp<chunk::SubOp>();
  if (!below_row || chunk::rows(below_row.getX()) != 1) return {};
  for (auto other : program_.getBody().getOps<chunk::SubOp>()) {
    if (other.getX() != below_row.getY() || other.getY() != below_row.getX()) continue;
    Type type = type_of(op.getResult());
    return call("exp2", call("neg", tile(other.getResult()), type), type);
  }
  return {};
}

// 2^(L - w - m) of the first token, of which L is w: the first row of as much, where m is a number.
Value WarpBuilder::first_of(chunk::SubOp over_row) {
  if (!number(over_row.getY())) {
    Value row = tile(over_row.getY());
    return call("exp2", call("neg", row, row.getType()), row.getType());
  }
  Type type = VectorType::get({1, type_of(over_row.getResult()).getDimSize(1)}, b_.getF32Type());
  return call("exp2", call("row", tile(over_row.getResult()), type, 0), type);
}

// 2^(L - w - m) of a running sum L of w and a row m is 2^(L - m) of the row before, if that is there, too.
Value WarpBuilder::shifted_exp2(chunk::Exp2Op op) {
  auto over_row = op.getX().getDefiningOp<chunk::SubOp>();
  if (!over_row || chunk::rows(over_row.getY()) != 1) return {};
  auto before = over_row.getX().getDefiningOp<chunk::SubOp>();
  auto sum = before ? before.getX().getDefiningOp<chunk::CumsumOp>() : chunk::CumsumOp();
  if (!sum || sum.getReverse() || sum.getExclusive() || sum.getX() != before.getY()) return {};
  for (auto other : program_.getBody().getOps<chunk::Exp2Op>()) {
    auto x = other.getX().getDefiningOp<chunk::SubOp>();
    if (!x || x.getX() != sum.getResult() || x.getY() != over_row.getY()) continue;
    return call("shift_rows", {tile(other.getResult()), first_of(over_row)}, type_of(op.getResult()));
  }
  return {};
}

// In strips; null where it is like any other function.
Value WarpBuilder::exp2_beside(chunk::Exp2Op op) {
  if (owner_ != Owner::slab || !placement_.in_strips(phase_)) return {};
  Value shifted = shifted_exp2(op);
  return shifted ? shifted : negated_exp2(op);
}

}  // namespace wkvc
