// Contractions and their operands.
#include "codegen/chunk/Names.h"
#include "codegen/ir/Text.h"
#include "codegen/passes/chunk_to_warp/WarpBuilder.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

Operand WarpBuilder::shared_operand(Value value) {
  bool slab = owner_ == Owner::slab && placement_.space(value).columns == slab_axis_;
  return {shared_tile(value), scale_of(value), slab ? column_ : Value()};
}

// Whether one warp contracts the value's columns in several of its matrices.
bool WarpBuilder::is_read_again(Value value) const {
  // With scales there are no registers to spare. Of values over value columns a warp would load its own.
  if (owner_ != Owner::matrix || !chunk::ProgramOp(program_).getPlain()) return false;
  if (placement_.space(value).columns == Axis::value) return false;
  int readers = 0;
  for (OpOperand& use : value.getUses()) {
    auto dot = dyn_cast<chunk::DotOp>(use.getOwner());
    const ValuePlace& place = placement_.of(use.getOwner());
    if (!dot || place.owner != Owner::matrix || place.warp != warp_ || place.phase != phase_) continue;
    if ((use.getOperandNumber() == 0 ? dot.getXDim() : dot.getYDim()) != 1) return false;
    ++readers;
  }
  return readers > 1;
}

// The columns of this warp's share, transposed: those that it holds, or of a value that it has made. Null if it has
// none.
Value WarpBuilder::columns_in_registers(Value value) {
  Value& held = held_[value];
  const bool is_made = placement_.in_shares(phase_) && local_.contains(value) && !placement_.is_shared(value);
  if (held || !is_made || placement_.space(value).rows != Axis::token) return held;
  auto type = VectorType::get({placement_.slab_width(phase_, slab_axis_), chunk::rows(value)}, chunk::element(value));
  held = create<warp::TransposeOp>(type, tile(value));
  set_name(held, (name_of(value) + "_columns").str());
  return held;
}

// The value as an operand whose tile (after an optional transposition by the reader) has the contraction in its
// columns.
Operand WarpBuilder::operand(Value value, bool contracts_columns) {
  if (Value x = owner_ == Owner::slab && !contracts_columns ? columns_in_registers(value) : Value()) return {x, {}, {}};
  bool in_rows = placement_.of(value).owner == Owner::rows || placement_.space(value).columns == Axis::value;
  if (is_read_again(value)) return {tile(value), {}, {}};
  if (owner_ != Owner::rows || !in_rows) return shared_operand(value);
  if (contracts_columns == lies_transposed(value) && placement_.space(value).rows == Axis::token)
    internal_error("'{}' is held in the wrong orientation", name_of(value).str());
  // A register tile carries its scale, unless it was loaded from beside it.
  if (Value x = brought(value)) return {x, {}, {}};
  Value x = tile(value);
  return {x, isa_and_nonnull<warp::LoadOp>(x.getDefiningOp()) ? scale_of(value) : Value(), {}};
}

Value WarpBuilder::column_dots(chunk::ColumnDotsOp op) {
  Type type = type_of(op.getResult());
  if (placement_.in_shares(phase_))
    return create<warp::ColumnDotsOp>(type, columns_of_share(op.getX()), columns_of_share(op.getY()), Value(), Value(),
                                      Value(), Value());
  return create<warp::ColumnDotsOp>(type, shared_tile(op.getX()), shared_tile(op.getY()), scale_of(op.getX()),
                                    scale_of(op.getY()), column_, Value());
}

// Returns true where masked pairs are not multiplied. Plain kernels refuse what is not finite; in clusters votes would
// be on the chain of states.
bool WarpBuilder::is_causal() { return program_.getCompute() == "f32" || (!program_.getPlain() && plan_.cluster == 1); }

// The triangle of an operand as it is contracted, its rows being those of the result. Where both have one, the first is
// taken.
StringAttr WarpBuilder::triangle(Value operand, int64_t contracted) {
  if (!is_causal()) return {};
  Triangle triangle = triangles_.of(operand);
  if (contracted == 0) triangle = triangle.transposed();
  if (triangle.lower == triangle.upper) return {};
  return b_.getStringAttr(triangle.lower ? "lower" : "upper");
}

// Returns the operands' names as the contraction's equation has them; null where one has no name.
ArrayAttr WarpBuilder::factors(chunk::DotOp op) {
  std::string x = exact_name_of(op.getX()), y = exact_name_of(op.getY());
  if (x.empty() || y.empty()) return {};
  if (op.getXDim() == 0) x += "^T";
  if (op.getYDim() == 1) y += "^T";
  return b_.getStrArrayAttr({x, y});
}

Value WarpBuilder::dot(chunk::DotOp op, Value accumulator) {
  Operand x = operand(op.getX(), op.getXDim() == 1), y = operand(op.getY(), op.getYDim() == 1);
  bool x_shared = isa<MemRefType>(x.tile.getType()), y_shared = isa<MemRefType>(y.tile.getType());
  bool x_transposed = x_shared && op.getXDim() == 0, y_transposed = y_shared && op.getYDim() == 0;
  if (!accumulator) accumulator = create<warp::ZerosOp>(type_of(op.getResult()));
  StringAttr x_triangle = triangle(op.getX(), static_cast<int64_t>(op.getXDim()));
  StringAttr y_triangle = x_triangle ? StringAttr() : triangle(op.getY(), static_cast<int64_t>(op.getYDim()));
  if (lies_transposed(op.getResult())) {
    std::swap(x, y);
    std::swap(x_transposed, y_transposed);
    std::swap(x_triangle, y_triangle);
  }
  auto rounded = x.tile.getDefiningOp<warp::RoundOp>();
  bool as_it_is = is_product(op), on_sum = carries_scale(accumulator);
  bool in_scale = !as_it_is && rounded_.contains(accumulator) && rounded && warp::has_scale(rounded);
  Value sum = create<warp::MmaOp>(accumulator.getType(), accumulator, x.tile, y.tile, x.scale, y.scale, y.column,
                                  x_transposed, y_transposed, in_scale, as_it_is && on_sum, as_it_is && !on_sum,
                                  /*by_groups=*/false, x_triangle, y_triangle, factors(op));
  if (on_sum || as_it_is) scaled_.insert(sum);
  if (in_scale) rounded_.insert(sum);
  return sum;
}

// The operand of a sum that accumulates on the other one: a contraction that nothing else reads, made in the same place
// and phase. Of two, the second; the first only where the other is there before.
Value WarpBuilder::accumulated(Operation* sum) const {
  if (!isa<chunk::AddOp>(sum)) return {};
  const ValuePlace& place = placement_.of(sum);
  for (int i : {1, 0}) {
    Value x = sum->getOperand(i), other = sum->getOperand(1 - i);
    if (!x.getDefiningOp<chunk::DotOp>() || !x.hasOneUse()) continue;
    if (placement_.of(x).phase != place.phase) continue;
    if (other.getDefiningOp<chunk::ConstantOp>() || type_of(other) != type_of(x)) continue;
    if (i == 1 || is_source(other) || placement_.of(other).phase < place.phase) return x;
  }
  return {};
}

}  // namespace wkvc
