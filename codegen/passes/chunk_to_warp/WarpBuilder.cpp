#include "codegen/passes/chunk_to_warp/WarpBuilder.h"

#include <llvm/ADT/TypeSwitch.h>

#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "codegen/passes/chunk_to_warp/TensorList.h"
#include "codegen/passes/place/Roundings.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

WarpBuilder::WarpBuilder(const PlacedProgram& of, OpBuilder& builder, const Plan& plan, Type saved, bool fits)
    : of_(of),
      program_(of.program),
      placement_(of.placement),
      b_(builder),
      plan_(plan),
      buffers_(of, builder),
      copies_(of, buffers_, builder, saved, fits) {}

void WarpBuilder::set_state(Value tile, bool with_scale) {
  state_ = tile;
  if (with_scale) scaled_.insert(tile);
}

// One number for each token.
bool WarpBuilder::is_column_vector(Value value) const {
  Space space = placement_.space(value);
  return space.rows == Axis::token && space.columns == Axis::one;
}

// As operands of value rows do.
bool WarpBuilder::lies_transposed(Value value) const {
  return owner_ == Owner::rows && placement_.space(value).columns == Axis::value;
}

VectorType WarpBuilder::type_of(Value value) const {
  int64_t r = chunk::rows(value), c = chunk::columns(value);
  Space space = placement_.space(value);
  // Beside tiles of value rows × tokens the tokens lie in a row.
  if (is_column_vector(value) && owner_ == Owner::rows) std::swap(r, c);
  if (space.rows == Axis::value) r = 16;
  if (owner_ == Owner::slab && space.columns == slab_axis_) {
    c = placement_.slab_width(phase_, slab_axis_);
  } else if (space.columns == Axis::value) {
    c = 16;
    if (lies_transposed(value)) std::swap(r, c);
  }
  return VectorType::get({r, c}, chunk::element(value));
}

// What there is of sums that carry a scale; of C×C matrices all terms have the same one.
bool WarpBuilder::keeps_scale(llvm::StringRef function, ValueRange x) const {
  if (function == "mul") return carries_scale(x[0]) && cast<VectorType>(x[1].getType()).getDimSize(0) == 1;
  return owner_ == Owner::matrix && llvm::is_contained({"tril", "tril_strict", "level_pairs", "add"}, function) &&
         llvm::all_of(x, [&](Value operand) { return carries_scale(operand); });
}

Value WarpBuilder::call(llvm::StringRef function, ValueRange x, Type type, std::optional<float> constant) {
  auto carries = [&](Value operand) { return carries_scale(operand); };
  llvm::SmallVector<Value> operands(x);
  const bool keeps = llvm::any_of(x, carries) && keeps_scale(function, x);
  if (!keeps)
    for (Value& operand : operands)
      if (carries(operand)) operand = create<warp::WithoutScaleOp>(operand);
  Value result = create<warp::CallOp>(type, function, operands, constant ? b_.getF32FloatAttr(*constant) : FloatAttr());
  if (keeps) scaled_.insert(result);
  return result;
}

bool WarpBuilder::is_computed(Value value) const {
  return local_.contains(value) || registers_.contains(value) || of_.shared.find(value);
}

Value WarpBuilder::shared_tile(Value value) {
  if (auto it = current_.find(value); it != current_.end()) return it->second;
  if (Value shared = buffers_.find(value)) return shared;
  internal_error("'{}' is not in shared memory", name_of(value).str());
}

Value WarpBuilder::tile(Value value) {
  if (auto found = current_registers().lookup(value)) return found;
  if (Value early = owner_ == Owner::matrix ? tokens_.lookup(value) : Value()) return early;
  if (auto held = owner_ == Owner::slab && is_source(value) ? held_.lookup(value) : Value()) return held;
  if (auto round = placement_.stand_in(value, phase_)) return current_registers()[value] = widened(round.getResult());
  Operation* op = value.getDefiningOp();
  const ValuePlace& place = placement_.of(value);
  bool again = !is_source(value) && !of_.shared.find(value) && (place.owner == Owner::anyone || place.owner == owner_);
  if (again) {
    compute(op);
    return tile(value);
  }
  Value result = loaded(value);
  set_name(result, name_of(value));
  current_registers()[value] = result;
  return result;
}

// Where a value goes when it is computed: with what lasts for the chunk, or with what ends with a slab or a matrix.
WarpBuilder::Registers& WarpBuilder::current_registers() { return owner_ == Owner::rows ? registers_ : local_; }

Value WarpBuilder::filled(chunk::ConstantOp op, VectorType type) {
  if (!op.getDims())
    user_error_at(op, "'{}': a number alone can't be an operand here; compute it beforehand",
                  program_.getRecurrence().str());
  Value zeros = create<warp::ZerosOp>(type);
  if (op.getValue().isZero()) return zeros;
  return call("add_constant", zeros, type, static_cast<float>(op.getValue().convertToDouble()));
}

// What lies in shared or global memory, gradients of 16 bits in no unit yet.
Value WarpBuilder::loaded(Value value) {
  VectorType type = type_of(value);
  auto f32 = VectorType::get(type.getShape(), b_.getF32Type());
  bool slab = owner_ == Owner::slab && placement_.space(value).columns == slab_axis_;
  Value column = slab ? column_ : Value();
  if (auto parameter = value.getDefiningOp<chunk::ParameterOp>())
    return create<warp::ParameterOp>(f32, parameter.getSym(), column, type.getElementType());
  if (auto input = value.getDefiningOp<chunk::InputOp>(); input && chunk::columns(value) == 1)
    return over_unit(value, create<warp::TokensOp>(f32, input.getSym(), type.getElementType()));
  if (auto constant = value.getDefiningOp<chunk::ConstantOp>()) return filled(constant, f32);
  Value shared = shared_tile(value);
  if (cast<MemRefType>(shared.getType()).getRank() == 1) {
    int64_t parts = cast<MemRefType>(shared.getType()).getDimSize(0) / (chunk::rows(value) * chunk::columns(value));
    return create<warp::LoadVectorOp>(f32, shared, column,
                                      is_partial(value) ? b_.getI64IntegerAttr(parts) : IntegerAttr(), StringAttr());
  }
  bool own = !slab && placement_.space(value).columns == Axis::value;
  bool own_rows = owner_ == Owner::rows && placement_.space(value).rows == Axis::value;
  Value x = create<warp::LoadOp>(type, shared, column, own, lies_transposed(value), own_rows);
  return chunk::element(value).isF32() ? over_unit(value, x) : x;
}

Value WarpBuilder::scale_of(Value value) { return scales_.lookup(value); }

// An operand in the scale in which the state takes it; null if it takes it as it is.
Value WarpBuilder::brought(Value operand) {
  auto round = operand.getDefiningOp<chunk::RoundOp>();
  auto other = taken_ && round ? taken_->brought.lookup(round) : chunk::RoundOp();
  if (!other) return {};
  Value& found = brought_[operand];
  if (!found) {
    Value x = tile(operand), scale = x.getDefiningOp<warp::LoadOp>() ? scale_of(operand) : Value();
    found = create<warp::RoundBesideOp>(x.getType(), x, scale, state_operand_, known_scale(other));
  }
  return found;
}

// The same tile in two terms, if it was stored so or is there: to add terms up and to part them again takes long.
static Value folded(Value x, Type type, Block* block) {
  auto widen = x.getDefiningOp<warp::CallOp>();
  if (widen && widen.getFunction() == "widen" && widen.getX().front().getType() == type) return widen.getX().front();
  for (Operation* user : x.getUsers())
    if (isa<warp::RoundOp>(user) && user->getResult(0).getType() == type && user->getBlock() == block &&
        !warp::has_scale(user->getResult(0)))
      return user->getResult(0);
  return {};
}

Value WarpBuilder::rounded(Value x, Type element) {
  auto type = VectorType::get(cast<VectorType>(x.getType()).getShape(), element);
  if (Value found = is_folded(element) ? folded(x, type, b_.getInsertionBlock()) : Value()) return found;
  return create<warp::RoundOp>(type, x, Value(), Value(), Value(), false, false, false);
}

Value WarpBuilder::round(chunk::RoundOp op) {
  Value x = tile(op.getX()), scale;
  bool as_is = is_as_is(op), in_scale = carries_scale(x) && !as_is && !(taken_ && taken_->brought.contains(op));
  if (auto other = taken_ ? taken_->beside.lookup(op) : chunk::RoundOp())
    return create<warp::RoundBesideOp>(type_of(op.getResult()), x, Value(), state_operand_, known_scale(other));
  if (has_bound(op) && !in_scale && !as_is) scale = scale_of(op.getResult());
  if (in_scale) rounded_.insert(x);
  if (!op.getBound() && !in_scale && !as_is) return rounded(x, chunk::element(op.getResult()));
  bool fits = in_scale && taken_;
  return create<warp::RoundOp>(type_of(op.getResult()), x, scale, fits ? slope_ : Value(), fits ? offset_ : Value(),
                               has_own_scale(op) && !as_is, in_scale, as_is);
}

chunk::ConstantOp number(Value x) {
  auto constant = x.getDefiningOp<chunk::ConstantOp>();
  return constant && !constant.getDims() ? constant : chunk::ConstantOp();
}

Value WarpBuilder::binary(Operation* op, const char* function) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  Type type = type_of(op->getResult(0));
  bool multiplies = isa<chunk::MulOp>(op), subtracts = isa<chunk::SubOp>(op);
  if (auto c = number(y)) {
    float constant = static_cast<float>(c.getValue().convertToDouble());
    return call(multiplies ? "mul_constant" : "add_constant", tile(x), type, subtracts ? -constant : constant);
  }
  if (auto c = number(x)) {
    Value rest = tile(y);
    if (subtracts) rest = call("neg", rest, rest.getType());
    return call(multiplies ? "mul_constant" : "add_constant", rest, type,
                static_cast<float>(c.getValue().convertToDouble()));
  }
  if (Value product = accumulated(op); product && !is_computed(product))
    return dot(product.getDefiningOp<chunk::DotOp>(), tile(product == y ? x : y));
  // The tile comes first, a row or column it is combined with second.
  if (!subtracts && chunk::rows(x) * chunk::columns(x) < chunk::rows(y) * chunk::columns(y)) std::swap(x, y);
  Value a = tile(x), b = tile(y);
  // A row beside a column makes a tile.
  if (a.getType() != type && b.getType() != type) a = call("add", {create<warp::ZerosOp>(type), a}, type);
  return call(function, {a, b}, type);
}

void WarpBuilder::store(chunk::OutputOp op, Value x) {
  Type element = element_type(op->getContext(), op.isSummed() ? "f32" : op.getDtype());
  if (carries_scale(x)) x = create<warp::WithoutScaleOp>(x);
  if (op.getKept())
    create<warp::StoreMatrixOp>(op.getSym(), is_folded(element) ? rounded(x, element) : x, element);
  else if (is_column_vector(op.getX()))
    create<warp::StoreTokensOp>(stored_name(op), x, element);
  else
    create<warp::StoreOutputOp>(stored_name(op), x, element, owner_ == Owner::slab ? column_ : Value(),
                                lies_transposed(op.getX()));
}

void WarpBuilder::compute(Operation* op) {
  if (isa<chunk::UpdateOp, chunk::UpdateSavedOp>(op)) {
    next_ = tile(op->getOperand(0));
  } else if (auto sum = dyn_cast<chunk::AccumulateOp>(op)) {
    create<warp::AddVectorOp>(times_unit(sum.getX()), buffers_.sum(op), owner_ == Owner::slab ? column_ : Value());
  } else {
    Operation* user = op->hasOneUse() ? *op->user_begin() : nullptr;
    if (isa<chunk::DotOp>(op) && user && accumulated(user) == op->getResult(0)) return;
    Value value = op->getResult(0), result = computed(op);
    if (name_of(result).empty()) set_name(result, name_of(value));
    // A part of a sum is not the sum: that is read once all parts are there.
    if (!is_partial(value)) current_registers()[value] = result;
    const ValuePlace& place = placement_.of(value);
    if (placement_.is_shared(value) && place.phase == phase_) publish(value, result);
  }
}

Value WarpBuilder::widened(Value operand) {
  Value x = tile(operand);
  auto type = cast<VectorType>(x.getType());
  if (type.getElementType().isF32()) return x;
  auto wide = VectorType::get(type.getShape(), b_.getF32Type());
  if (has_unit(operand)) return create<warp::WidenOverOp>(wide, x, unit_);
  auto round = operand.getDefiningOp<chunk::RoundOp>();
  if (!round || !round.getBound()) return call("widen", x, wide);
  // A tile that was rounded here, or whose scale lies beside it, carries it.
  bool carried = !isa<warp::LoadOp>(x.getDefiningOp()) || has_own_scale(round);
  return create<warp::WidenOp>(wide, x, carried ? Value() : scale_of(operand));
}

Value WarpBuilder::computed(Operation* op) {
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case([&](chunk::SavedStateOp) { return plan_.by_teams() ? state_ : copies_.saved_state(copies_.load_saved()); })
      .Case([&](chunk::StateOp) { return state_; })
      .Case([&](chunk::DotOp x) { return dot(x, {}); })
      .Case([&](chunk::ColumnDotsOp x) { return column_dots(x); })
      .Case([&](chunk::RoundOp x) { return round(x); })
      .Case([&](chunk::WidenOp x) { return widened(x.getX()); })
      .Case([&](chunk::UnitLowerInverseOp x) -> Value {
        const llvm::StringRef mode = is_causal() ? "f32" : x.getDtype();
        return create<warp::UnitLowerInverseOp>(tile(x.getX()), buffers_.scratch(x), mode);
      })
      .Case([&](chunk::DiagonalDotOp x) {
        return call("diagonal_dot", {shared_tile(x.getX()), shared_tile(x.getY())}, type_of(x.getResult()));
      })
      .Case([&](chunk::AddOp) { return binary(op, "add"); })
      .Case([&](chunk::SubOp) { return binary(op, "sub"); })
      .Case([&](chunk::MulOp) { return binary(op, "mul"); })
      .Default([&](Operation*) { return by_function(op); });
}

// By a function of templates/ that takes the operation's tiles, and a number if it has one.
Value WarpBuilder::by_function(Operation* op) {
  Value value = op->getResult(0);
  Type type = type_of(value);
  const bool tokens_in_columns = lies_transposed(value) || (owner_ == Owner::rows && is_column_vector(value));
  auto function = [&](llvm::StringRef name, std::optional<float> constant = {}) {
    return call(name, tile(op->getOperand(0)), type, constant);
  };
  auto level = [&](auto level_op) {
    llvm::SmallVector<Value> x;
    for (Value v : op->getOperands()) x.push_back(tile(v));
    return call(op->getName().stripDialect(), x, type, static_cast<float>(level_op.getHalf()));
  };
  const bool of_values = op->getNumOperands() && lies_transposed(op->getOperand(0));
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case([&](chunk::KeepValidOp) { return function(tokens_in_columns ? "keep_valid_columns" : "keep_valid"); })
      .Case([&](chunk::CumsumOp x) {
        return function(
            fmt::format("{}{}cumsum", x.getReverse() ? "reverse_" : "", x.getExclusive() ? "exclusive_" : ""));
      })
      .Case([&](chunk::RowOp x) {
        Value row = function("row", static_cast<float>(x.getIndex()));
        return x.getAnchor() && is_causal() ? call("zero_if_nan", row, type) : row;
      })
      .Case([&](chunk::AtRowOp x) { return function("at_row", static_cast<float>(x.getIndex())); })
      // Value rows × tokens: the sum of all columns is one of the tile's rows, and the other way round.
      .Case([&](chunk::SumColumnsOp) { return function(of_values ? "sum_rows" : "sum_columns"); })
      .Case([&](chunk::SumRowsOp) { return function(of_values ? "sum_columns" : "sum_rows"); })
      .Case([&](chunk::DiagonalOp) { return function("diagonal_column"); })
      .Case([&](chunk::AtLeastOp x) { return function("maximum", x.getBound().convertToFloat()); })
      .Case([&](chunk::ExceedsOp x) { return function("greater_than", x.getBound().convertToFloat()); })
      .Case([&](chunk::NotBelowOp x) { return function("not_below", x.getBound().convertToFloat()); })
      .Case([&](chunk::TrilOp x) { return function(x.getStrict() ? "tril_strict" : "tril"); })
      .Case<chunk::LastOfOtherHalfOp, chunk::SumOfOtherHalfOp, chunk::SelectHalvesOp, chunk::LevelPairsOp,
            chunk::UpperRowsOp, chunk::LowerRowsOp>(level)
      .Default([&](Operation*) { return function(op->getName().stripDialect()); });
}

// To shared memory, for another owner or a later phase.
void WarpBuilder::publish(Value value, Value x) {
  if (carries_scale(x)) x = create<warp::WithoutScaleOp>(x);
  Value shared = buffers_.find(value);
  Value column = owner_ == Owner::slab ? column_ : Value();
  Space space = placement_.space(value);
  if (cast<MemRefType>(shared.getType()).getRank() == 1) {
    bool part = is_partial(value);
    create<warp::StoreVectorOp>(x, shared, column, part);
  } else {
    bool rows = owner_ == Owner::rows;
    create<warp::StoreOp>(x, shared, column, rows && space.rows == Axis::value, rows && space.columns == Axis::value);
  }
}

}  // namespace wkvc
