#include "codegen/lower/ChunkBuilder.h"

#include <cmath>

#include "codegen/ir/Text.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

Value stored(Value x) {
  auto widen = x.getDefiningOp<chunk::WidenOp>();
  return widen ? widen.getX() : x;
}

Type element_type(MLIRContext* context, llvm::StringRef dtype) {
  if (dtype == "f32") return Float32Type::get(context);
  if (dtype == "f16") return Float16Type::get(context);
  if (dtype == "bf16") return BFloat16Type::get(context);
  internal_error("no element type for dtype '{}'", dtype.str());
}

namespace {

std::optional<Bound> product(std::optional<Bound> a, const std::optional<Bound>& b) {
  if (!a || !b) return std::nullopt;
  a->inputs.insert(a->inputs.end(), b->inputs.begin(), b->inputs.end());
  a->factor *= b->factor;
  return a;
}

bool is_zero(Value x) {
  auto constant = x.getDefiningOp<chunk::ConstantOp>();
  return constant && constant.getValue().isZero();
}

}  // namespace

std::optional<Bound> bound_of(Value x, bool of_states) {
  Operation* op = x.getDefiningOp();
  auto operand = [&](int i) { return bound_of(op->getOperand(i), of_states); };
  if (auto at_most = op->getAttrOfType<FloatAttr>("at_most")) return Bound{{}, at_most.getValueAsDouble()};
  // The maxima of whole chunks are known; of one number a token nobody takes any.
  if (auto input = llvm::dyn_cast<chunk::InputOp>(op); input && chunk::columns(x) > 1)
    return Bound{{input.getSym().str()}, 1};
  if (of_states && llvm::isa<chunk::StateOp, chunk::SavedStateOp>(op))
    return Bound{{op->getAttrOfType<StringAttr>("sym").str()}, 1};
  if (auto constant = llvm::dyn_cast<chunk::ConstantOp>(op))
    return Bound{{}, std::abs(constant.getValue().convertToDouble())};
  if (llvm::isa<chunk::WidenOp, chunk::NegOp, chunk::KeepValidOp>(op)) return operand(0);
  if (llvm::isa<chunk::SigmoidOp, chunk::TanhOp, chunk::ExceedsOp>(op)) return Bound{{}, 1};
  if (llvm::isa<chunk::MulOp>(op)) return product(operand(0), operand(1));
  if (llvm::isa<chunk::AddOp>(op) && is_zero(op->getOperand(0))) return operand(1);
  return std::nullopt;
}

void ChunkBuilder::set_at_most(Value x, double magnitude) {
  x.getDefiningOp()->setAttr("at_most", builder_.getF32FloatAttr(static_cast<float>(magnitude)));
}

std::string dtype_name(Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text;
}

Value ChunkBuilder::scale(Value x, double factor) {
  if (auto product = x.getDefiningOp<chunk::MulOp>()) {
    for (auto [number, rest] : {std::pair{product.getX(), product.getY()}, {product.getY(), product.getX()}}) {
      if (auto constant = number.getDefiningOp<chunk::ConstantOp>())
        return scale(rest, factor * constant.getValue().convertToDouble());
    }
  }
  return mul(x, number(factor));
}

Value ChunkBuilder::number(double value) {
  return create<chunk::ConstantOp>(f32_type(1, 1), llvm::APFloat(value), StringAttr());
}

Value ChunkBuilder::log(Value x) {
  if (auto constant = x.getDefiningOp<chunk::ConstantOp>()) {
    double value = constant.getValue().convertToDouble();
    if (value <= 0) user_error("the constant {} has no logarithm: a decay is above 0", value);
    return number(std::log(value));
  }
  return unary<chunk::LogOp>(x);
}

Value ChunkBuilder::zeros(Type type, llvm::StringRef dims) {
  return create<chunk::ConstantOp>(type, llvm::APFloat(0.0), builder_.getStringAttr(dims));
}

Value ChunkBuilder::row_dot(Value x, Value y) {
  Value products = mul(widen(x), widen(y));
  return chunk::columns(products) == 1 ? products : sum_columns(products);
}

Value ChunkBuilder::diagonal_dot(Value x, Value y) {
  return create<chunk::DiagonalDotOp>(f32_type(chunk::rows(x), chunk::rows(x)), stored(x), stored(y));
}

Value ChunkBuilder::tril(Value x, bool strict) { return create<chunk::TrilOp>(x.getType(), x, strict); }

Value ChunkBuilder::cumsum(Value x, bool reverse) { return create<chunk::CumsumOp>(x.getType(), x, reverse); }

Value ChunkBuilder::row(Value x, int64_t index, bool anchor) {
  return create<chunk::RowOp>(f32_type(1, chunk::columns(x)), x, index, anchor);
}

Value ChunkBuilder::widen(Value x) {
  if (chunk::element(x).isF32()) return x;
  Value& cached = widened_[x];
  if (!cached) cached = create<chunk::WidenOp>(f32_type(chunk::rows(x), chunk::columns(x)), x);
  return cached;
}

Value ChunkBuilder::spread(Value x, int64_t rows, int64_t columns, llvm::StringRef dims) {
  RankedTensorType type = f32_type(rows, columns);
  if (x.getType() == type) return x;
  Value& cached = spread_[{x, builder_.getStringAttr(dims)}];
  if (!cached) cached = add(zeros(type, dims), x);
  return cached;
}

bool ChunkBuilder::fits_f16(Value x) const { return measurable_.contains(x) || bound_of(x).has_value(); }

Value ChunkBuilder::operand(Value x, const std::string& dtype) {
  Type element = element_type(builder_.getContext(), dtype);
  if (element.isF32()) return x;
  if (auto widen = x.getDefiningOp<chunk::WidenOp>();
      widen && chunk::element(widen.getX()) == element && dtype != "f16")
    return widen.getX();
  Value& cached = operands_[{x, element}];
  if (cached) return cached;
  ArrayAttr inputs;
  FloatAttr factor;
  auto bound = bound_of(x);
  bool proven = bound && bound->inputs.empty() && bound->factor < 32768;  // half of f16's largest
  if (dtype == "f16" && !proven) {
    llvm::SmallVector<llvm::StringRef> names;
    if (bound) names.assign(bound->inputs.begin(), bound->inputs.end());
    inputs = builder_.getStrArrayAttr(names);
    factor = builder_.getF32FloatAttr(bound ? static_cast<float>(bound->factor) : 0.f);
  }
  auto type = RankedTensorType::get({chunk::rows(x), chunk::columns(x)}, element);
  cached = create<chunk::RoundOp>(type, x, inputs, factor);
  if (auto name = name_of(x); !name.empty()) set_name(cached, (name + "_" + dtype).str());
  return cached;
}

// Never below what the recurrence asks for. f16 operands that could overflow go up to f32.
std::string ChunkBuilder::operand_dtype(Value x, Value y, bool precise) const {
  bool fits = fits_f16(x) && fits_f16(y);
  if (compute_ == "f16" && !fits) return "f32";
  if (compute_ == "bf16" && fits && precise) return "f16";
  return compute_;
}

// Contractions over tokens feed the state and the solve, where bf16's rounding comes back again and again (o: 3.4e-3 to
// 2.8e-3 on random inputs, 4.7e-3 to 2.7e-3 on repeated keys).
Value ChunkBuilder::dot(Value x, int64_t i, Value y, int64_t j) {
  return contraction(x, i, y, j, operand_dtype(x, y, /*precise=*/j == 0));
}

Value ChunkBuilder::precise_dot(Value x, int64_t i, Value y, int64_t j) {
  return contraction(x, i, y, j, operand_dtype(x, y, /*precise=*/true));
}

Value ChunkBuilder::contraction(Value x, int64_t i, Value y, int64_t j, const std::string& dtype) {
  Value a = operand(x, dtype), b = operand(y, dtype);
  auto free_size = [](Value v, int64_t dim) { return dim ? chunk::rows(v) : chunk::columns(v); };
  auto type = f32_type(free_size(a, i), free_size(b, j));
  return create<chunk::DotOp>(type, a, i, b, j);
}

Value ChunkBuilder::inverse(Value x) { return create<chunk::UnitLowerInverseOp>(x.getType(), x, compute_); }

}  // namespace wkvc
