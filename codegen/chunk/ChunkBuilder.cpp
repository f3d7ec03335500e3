#include "codegen/chunk/ChunkBuilder.h"

#include <algorithm>
#include <cmath>

#include "codegen/chunk/Names.h"
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
  if (dtype == "tf32") return FloatTF32Type::get(context);
  if (dtype == Bf16x3Type::word) return Bf16x3Type::get(context);
  if (dtype == F16x2Type::word) return F16x2Type::get(context);
  if (dtype == LowerF16x2Type::word) return LowerF16x2Type::get(context);
  internal_error("no element type for dtype '{}'", dtype.str());
}

namespace {

constexpr size_t kMostProducts = 4;  // what is worth computing

std::optional<Bound> product(const std::optional<Bound>& a, const std::optional<Bound>& b, double count = 1) {
  if (!a || !b || a->products.size() * b->products.size() > kMostProducts) return std::nullopt;
  Bound all{{}, a->factor * b->factor * count};
  for (const auto& x : a->products) {
    for (const auto& y : b->products) {
      all.products.push_back(x);
      all.products.back().insert(all.products.back().end(), y.begin(), y.end());
    }
  }
  return all;
}

std::optional<Bound> sum(std::optional<Bound> a, const std::optional<Bound>& b) {
  if (!a || !b || a->products.size() + b->products.size() > kMostProducts) return std::nullopt;
  a->products.insert(a->products.end(), b->products.begin(), b->products.end());
  a->factor = std::max(a->factor, b->factor);
  return a;
}

bool is_zero(Value x) {
  auto constant = x.getDefiningOp<chunk::ConstantOp>();
  return constant && constant.getValue().isZero();
}

// What `at_most` and `of` say.
std::optional<Bound> declared(Operation* op, FloatAttr at_most, Known known) {
  Bound bound{{{}}, at_most.getValueAsDouble()};
  if (!std::isfinite(bound.factor) || bound.factor < 0) return std::nullopt;
  if (!op->hasAttr("of")) return bound;
  auto of = op->getAttrOfType<ArrayAttr>("of");
  if (!of || known < Known::sums) return std::nullopt;
  for (Attribute name : of) {
    if (!llvm::isa<StringAttr>(name)) return std::nullopt;
    bound.products[0].push_back(llvm::cast<StringAttr>(name).str());
  }
  return bound;
}

// `visits`: that are left, as operands may be shared.
std::optional<Bound> bound_of(Value x, Known known, int& visits) {
  if (--visits < 0) return std::nullopt;
  Operation* op = x.getDefiningOp();
  auto operand = [&](int i) { return bound_of(op->getOperand(i), known, visits); };
  if (auto at_most = op->getAttrOfType<FloatAttr>("at_most")) return declared(op, at_most, known);
  // The maxima of whole chunks are known; of one number a token nobody takes any.
  if (auto input = llvm::dyn_cast<chunk::InputOp>(op); input && chunk::columns(x) > 1)
    return Bound{{{input.getSym().str()}}, 1};
  if (known != Known::inputs && llvm::isa<chunk::StateOp, chunk::SavedStateOp>(op))
    return Bound{{{chunk::symbol(op).str()}}, 1};
  if (auto constant = llvm::dyn_cast<chunk::ConstantOp>(op))
    return Bound{{{}}, std::abs(constant.getValue().convertToDouble())};
  if (llvm::isa<chunk::WidenOp, chunk::NegOp, chunk::KeepValidOp>(op)) return operand(0);
  if (llvm::isa<chunk::SigmoidOp, chunk::TanhOp, chunk::ExceedsOp>(op)) return Bound{{{}}, 1};
  if (llvm::isa<chunk::MulOp>(op)) return product(operand(0), operand(1));
  if (llvm::isa<chunk::AddOp>(op) && is_zero(op->getOperand(0))) return operand(1);
  if (known < Known::sums) return std::nullopt;
  if (auto round = llvm::dyn_cast<chunk::RoundOp>(op); round && known == Known::operands) {
    auto of_operand = operand(0);
    std::string own = own_maximum(round);
    return of_operand || own.empty() ? of_operand : Bound{{{own}}, 1};
  }
  if (llvm::isa<chunk::RoundOp, chunk::TrilOp, chunk::LevelPairsOp>(op)) return operand(0);
  if (llvm::isa<chunk::AddOp>(op)) return sum(operand(0), operand(1));
  if (auto dot = llvm::dyn_cast<chunk::DotOp>(op)) {
    int64_t length = dot.getXDim() == 0 ? chunk::rows(dot.getX()) : chunk::columns(dot.getX());
    return product(operand(0), operand(1), static_cast<double>(length));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bound> bound_of(Value x, Known known) {
  int visits = 1000;
  return bound_of(x, known, visits);
}

// No input or state has such a name.
std::string own_maximum(chunk::RoundOp round) {
  std::string name = name_of(round.getResult()).str();
  return name.empty() || !round.getBound() ? "" : "*" + name;
}

bool Bound::is_number() const {
  return llvm::all_of(products, [](const auto& product) { return product.empty(); });
}

ArrayAttr products_attr(Builder& builder, const Bound& bound) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto& product : bound.products) {
    if (!names.empty()) names.push_back(chunk::kPlus);
    names.append(product.begin(), product.end());
  }
  return builder.getStrArrayAttr(names);
}

void ChunkBuilder::set_at_most(Value x, double magnitude, const std::vector<std::string>& inputs) {
  if (!inputs.empty()) {
    llvm::SmallVector<llvm::StringRef> names(inputs.begin(), inputs.end());
    x.getDefiningOp()->setAttr("of", builder_.getStrArrayAttr(names));
  }
  x.getDefiningOp()->setAttr("at_most", builder_.getF32FloatAttr(static_cast<float>(magnitude)));
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
  if (auto constant = x.getDefiningOp<chunk::ConstantOp>(); constant && constant.getValue().convertToDouble() > 0)
    return number(std::log(constant.getValue().convertToDouble()));
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

Value ChunkBuilder::cumsum(Value x, bool reverse, bool exclusive) {
  return create<chunk::CumsumOp>(x.getType(), x, reverse, exclusive);
}

Value ChunkBuilder::row(Value x, int64_t index, bool anchor) {
  return create<chunk::RowOp>(f32_type(1, chunk::columns(x)), x, index, anchor);
}

Value ChunkBuilder::widen(Value x) {
  if (chunk::element(x).isF32()) return x;
  Value& cached = widened_[x];
  if (!cached) cached = create<chunk::WidenOp>(f32_type(chunk::rows(x), chunk::columns(x)), x);
  return cached;
}

static bool is_zero_past_end(Value x) {
  Operation* op = x.getDefiningOp();
  if (llvm::isa<chunk::InputOp, chunk::KeepValidOp>(op)) return true;
  return llvm::isa<chunk::WidenOp, chunk::NegOp>(op) && is_zero_past_end(op->getOperand(0));
}

Value ChunkBuilder::zero_past_end(Value x) { return is_zero_past_end(x) ? x : keep_valid(x); }

Value ChunkBuilder::spread(Value x, int64_t rows, int64_t columns, llvm::StringRef dims) {
  RankedTensorType type = f32_type(rows, columns);
  if (x.getType() == type) return x;
  Value& cached = spread_[{x, builder_.getStringAttr(dims)}];
  if (!cached) cached = add(zeros(type, dims), x);
  return cached;
}

void ChunkBuilder::name(Value x, const std::string& name) {
  if (!name_of(x).empty()) return;
  set_name(x, name);
  for (Operation* user : x.getUsers())
    if (auto round = dyn_cast<chunk::RoundOp>(user)) name_operand(round);
}

bool ChunkBuilder::fits_f16(Value x) const { return measurable_.contains(x) || bound_of(x).has_value(); }

void ChunkBuilder::adopt(chunk::RoundOp op) {
  Type element = chunk::element(op.getResult());
  operands_[{op.getX(), element}] = op.getResult();
  if (isa<F16x2Type, LowerF16x2Type>(element)) set_two_terms(op.getX());
}

// An inverse has ones on its diagonal, which its scale, a power of two, leaves exact.
Type ChunkBuilder::element_of_operand(Value x, const std::string& dtype) const {
  MLIRContext* context = builder_.getContext();
  if (dtype != "f16" || !two_terms_.contains(x)) return element_type(context, dtype);
  return x.getDefiningOp<chunk::UnitLowerInverseOp>() ? Type(LowerF16x2Type::get(context)) : F16x2Type::get(context);
}

Value ChunkBuilder::operand(Value x, const std::string& dtype) {
  Type element = element_of_operand(x, dtype);
  if (element.isF32()) return x;
  if (auto widen = x.getDefiningOp<chunk::WidenOp>();
      widen && chunk::element(widen.getX()) == element && dtype != "f16")
    return widen.getX();
  Value& cached = operands_[{x, element}];
  if (cached) return cached;
  ArrayAttr inputs;
  FloatAttr factor;
  auto bound = bound_of(x);
  bool proven = bound && bound->is_number() && bound->factor < 32768;  // half of f16's largest
  if (dtype == "f16" && !proven) {
    inputs = bound ? products_attr(builder_, *bound) : builder_.getStrArrayAttr({});
    factor = builder_.getF32FloatAttr(bound ? static_cast<float>(bound->factor) : 0.f);
  }
  auto type = RankedTensorType::get({chunk::rows(x), chunk::columns(x)}, element);
  auto round = create<chunk::RoundOp>(type, x, inputs, factor);
  if (!name_of(original_of(x)).empty()) name_operand(round);  // else its name may yet come
  return cached = round;
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

Value ChunkBuilder::wide_dot(Value x, int64_t i, Value y, int64_t j) {
  Value product = contraction(x, i, y, j, compute_ == "f16" ? "tf32" : compute_);
  product.getDefiningOp<chunk::DotOp>().setWide(true);
  return product;
}

Value ChunkBuilder::contraction(Value x, int64_t i, Value y, int64_t j, const std::string& dtype) {
  Value a = operand(x, dtype), b = operand(y, dtype);
  auto free_size = [](Value v, int64_t dim) { return dim ? chunk::rows(v) : chunk::columns(v); };
  auto type = f32_type(free_size(a, i), free_size(b, j));
  return create<chunk::DotOp>(type, a, i, b, j);
}

Value ChunkBuilder::inverse(Value x) { return create<chunk::UnitLowerInverseOp>(x.getType(), x, compute_); }

}  // namespace wkvc
