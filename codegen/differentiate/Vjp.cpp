#include "codegen/differentiate/Vjp.h"

#include <llvm/ADT/TypeSwitch.h>

#include <numbers>

#include "codegen/ir/Text.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// An operand of a contraction before it was rounded.
Value exact(ChunkBuilder& b, Value operand) {
  if (auto round = operand.getDefiningOp<chunk::RoundOp>()) return round.getX();
  return b.widen(operand);
}

// d exp(x) = exp(x)·rate·dx of x, or 0 for what is no exponential.
double exponential_rate(Value x) {
  if (x.getDefiningOp<chunk::ExpOp>()) return 1;
  return x.getDefiningOp<chunk::Exp2Op>() ? std::numbers::ln2 : 0;
}

// Returns whether x was made zero from the diagonal up.
bool is_strictly_lower(Value x) {
  Operation* op = x.getDefiningOp();
  if (auto tril = dyn_cast<chunk::TrilOp>(op)) return tril.getStrict();
  if (isa<chunk::AddOp, chunk::SubOp, chunk::NegOp>(op)) return llvm::all_of(op->getOperands(), is_strictly_lower);
  if (isa<chunk::MulOp>(op)) return llvm::any_of(op->getOperands(), is_strictly_lower);
  return isa<chunk::LevelPairsOp>(op);
}

// Returns whether x is nowhere below zero.
bool is_positive(Value x) {
  Operation* op = x.getDefiningOp();
  if (isa<chunk::MulOp>(op)) return op->getOperand(0) == op->getOperand(1);
  if (isa<chunk::ReciprocalOp>(op)) return is_positive(op->getOperand(0));
  return isa<chunk::ExpOp, chunk::Exp2Op, chunk::SqrtOp, chunk::SoftplusOp, chunk::ReluOp>(op);
}

bool is_negated_positive(Value x) {
  auto neg = x.getDefiningOp<chunk::NegOp>();
  return neg && is_positive(neg.getX());
}

// Returns the value that running sums down the rows add up, also where a row is added to the sum of the rows before;
// null for another value.
Value summed_down(Value sums) {
  auto with_own = sums.getDefiningOp<chunk::AddOp>();
  auto sum = (with_own ? with_own.getX() : sums).getDefiningOp<chunk::CumsumOp>();
  const bool holds = sum && !sum.getReverse() && sum.getExclusive() == static_cast<bool>(with_own);
  return holds && (!with_own || with_own.getY() == sum.getX()) ? sum.getX() : Value();
}

}  // namespace

// Whether rows past the sequence's end, where inputs are zero, are surely finite. Values share operands, so what is
// found is remembered: following every path takes exponential time.
bool Vjp::finite_past_end(Value x) {
  if (auto known = finite_.find(x); known != finite_.end()) return known->second;
  Operation* op = x.getDefiningOp();
  bool may_overflow =
      isa<chunk::LogOp, chunk::ReciprocalOp>(op) || (isa<chunk::ExpOp, chunk::Exp2Op>(op) && !op->hasAttr("at_most"));
  bool finite =
      !may_overflow && llvm::all_of(op->getOperands(), [&](Value operand) { return finite_past_end(operand); });
  return finite_[x] = finite;
}

void Vjp::add(Value primal, Value value, double factor) {
  if (is_active(primal)) adjoints_.add(primal, {value, factor});
}

// Sums over the dimensions along which the primal was broadcast.
void Vjp::add_reduced(Value primal, Value value, double factor) {
  if (!is_active(primal)) return;
  if (chunk::rows(primal) == 1 && chunk::rows(value) > 1) value = b_.sum_rows(value);
  if (chunk::columns(primal) == 1 && chunk::columns(value) > 1) value = b_.sum_columns(value);
  add(primal, value, factor);
}

void Vjp::operator()(Operation* op, Term g) {
  auto x = [&] { return op->getOperand(0); };
  llvm::TypeSwitch<Operation*>(op)
      .Case<chunk::InputOp, chunk::ParameterOp, chunk::SavedStateOp, chunk::ConstantOp>([](Operation*) {})
      .Case<chunk::WidenOp, chunk::RoundOp>([&](Operation*) { add(x(), g.value, g.factor); })
      .Case([&](chunk::NegOp) { add(x(), g.value, -g.factor); })
      .Case([&](chunk::AddOp sum) {
        add_reduced(sum.getX(), g.value, g.factor);
        add_reduced(sum.getY(), g.value, g.factor);
      })
      .Case([&](chunk::SubOp difference) {
        add_reduced(difference.getX(), g.value, g.factor);
        add_reduced(difference.getY(), g.value, -g.factor);
      })
      .Case([&](chunk::MulOp product) { multiply(product, g); })
      .Case([&](chunk::NotBelowOp) { add(x(), g.value, g.factor); })
      .Case([&](chunk::KeepValidOp) { add(x(), b_.keep_valid(g.value), g.factor); })
      .Case([&](chunk::TrilOp tril) {
        add(x(), tril.getStrict() ? strictly_lower(g.value) : b_.tril(g.value, false), g.factor);
      })
      .Case([&](chunk::CumsumOp sum) { add(x(), b_.cumsum(g.value, !sum.getReverse(), sum.getExclusive()), g.factor); })
      .Case([&](chunk::RowOp row_of) { row(row_of, g); })
      .Case([&](chunk::DotOp dot) { contraction(dot, g); })
      .Case([&](chunk::UnitLowerInverseOp inverse_of) { inverse(inverse_of, g); })
      .Case([&](chunk::DiagonalDotOp dot) { diagonal_dot(dot, g); })
      .Case([&](chunk::LastOfOtherHalfOp last) { add(x(), b_.sum_of_other_half(g.value, last.getHalf()), g.factor); })
      .Case([&](chunk::SelectHalvesOp halves) { select_halves(halves, g); })
      .Case([&](chunk::UpperRowsOp rows) { add(x(), b_.upper_rows(g.value, rows.getHalf()), g.factor); })
      .Case([&](chunk::LowerRowsOp rows) { add(x(), b_.lower_rows(g.value, rows.getHalf()), g.factor); })
      .Case([&](chunk::LevelPairsOp level) { add(x(), b_.level_pairs(g.value, level.getHalf()), g.factor); })
      .Case<chunk::SumColumnsOp>([&](Operation*) { add(x(), g.value, g.factor); })
      .Default([&](Operation*) { activation(op, g); });
}

// x, or the largest finite number where x is beyond. A gradient may be zero where x is infinite (Overflow.h): there
// their product has to be 0.
Value Vjp::finite(Value x) {
  if (!overflow_.may_be_infinite(x)) return x;
  constexpr float lowest = std::numeric_limits<float>::lowest();
  if (is_negated_positive(x)) return b_.at_least(x, lowest);
  const Value bounded = b_.neg(b_.at_least(b_.neg(x), lowest));
  return is_positive(x) ? bounded : b_.at_least(bounded, lowest);
}

// A factor of a product as gradients take it.
Value Vjp::factor(chunk::MulOp product, Value x) { return overflow_.is_swallowed(product.getResult()) ? finite(x) : x; }

// The derivative of y = sigmoid(x) as e^-x·y·y: y·(1 − y) cancels where y is near 1. Below −80 e^-x is kept from
// infinity.
Value Vjp::sigmoid_slope(Value x, Value y) { return b_.mul(b_.mul(b_.exp(b_.neg(b_.at_least(x, -80))), y), y); }

// The derivative of tanh(x) = 2·sigmoid(2x) − 1: 1 − tanh² cancels where tanh is near 1.
Value Vjp::tanh_slope(Value x) {
  Value twice = b_.add(x, x);
  return b_.mul(b_.number(4), sigmoid_slope(twice, b_.sigmoid(twice)));
}

void Vjp::activation(Operation* op, Term g) {
  Value x = op->getOperand(0), y = op->getResult(0);
  auto slope = [&](Value derivative, double factor = 1) { add(x, b_.mul(g.value, derivative), g.factor * factor); };
  llvm::TypeSwitch<Operation*>(op)
      .Case([&](chunk::ExpOp) { slope(finite(y)); })
      .Case([&](chunk::Exp2Op) { slope(finite(y), std::numbers::ln2); })
      .Case([&](chunk::LogOp) { slope(b_.reciprocal(b_.at_least(x, std::numeric_limits<float>::min()))); })
      .Case([&](chunk::SigmoidOp) { slope(sigmoid_slope(x, y)); })
      .Case([&](chunk::TanhOp) { slope(tanh_slope(x)); })
      .Case([&](chunk::SoftplusOp) { slope(b_.sigmoid(x)); })
      .Case([&](chunk::ReluOp) { slope(b_.exceeds(x, 0)); })
      .Case([&](chunk::AtLeastOp largest) { slope(b_.exceeds(x, largest.getBound().convertToFloat())); })
      .Case([&](chunk::SqrtOp) { slope(finite(b_.reciprocal(y)), 0.5); })
      .Case([&](chunk::ReciprocalOp) { slope(finite(b_.mul(y, y)), -1); })
      .Default([](Operation* other) { internal_error("no gradient of '{}'", other->getName().getStringRef().str()); });
}

void Vjp::multiply(chunk::MulOp op, Term g) {
  factor_of_product(op, op.getX(), op.getY(), g);
  factor_of_product(op, op.getY(), op.getX(), g);
}

// The gradient of the factor x of x∘y.
void Vjp::factor_of_product(chunk::MulOp op, Value x, Value y, Term g) {
  if (!is_active(x)) return;
  if (auto constant = y.getDefiningOp<chunk::ConstantOp>(); constant && x.getType() == op.getResult().getType())
    return add(x, g.value, g.factor * constant.getValue().convertToDouble());
  if (double rate = exponential_rate(x)) {
    Value exponent = x.getDefiningOp()->getOperand(0);
    if (x.getType() == op.getResult().getType())
      return add(exponent, exponent_of_product(op, x, y, g.value), g.factor * rate);
    if (chunk::rows(x) == 1 && chunk::columns(x) == chunk::columns(y)) {
      Value gradient = b_.mul(g.value, factor(op, x));
      if (b_.is_measurable(y)) b_.set_measurable(gradient);
      if (auto name = name_of(y); !name.empty() && g.factor == 1) b_.name(gradient, gradient_name(name));
      return add(exponent, sum_of_products(gradient, factor(op, y)), g.factor * rate);
    }
  }
  add_reduced(x, b_.mul(g.value, factor(op, y)), g.factor);
}

// g∘exp(l)∘y, the gradient of l in exp(l)∘y. Gradients of differences are differences of such products, in which the
// operands' roundings have to cancel. Elsewhere nothing cancels, and the product of y's gradient g∘exp(l) and y has all
// of f32's digits.
Value Vjp::exponent_of_product(chunk::MulOp op, Value exponential, Value y, Value g) {
  const bool cancels = exponential.getDefiningOp()->getOperand(0).getDefiningOp<chunk::SubOp>() != nullptr;
  if (cancels) return b_.mul(g, as_contracted(op.getResult()));
  return b_.mul(b_.mul(g, factor(op, exponential)), factor(op, y));
}

// An operand of contractions as they saw it (with bf16 operands 4.0e-3 instead of 5.4e-3, see docs/architecture.md).
Value Vjp::as_contracted(Value x) {
  for (Operation* user : x.getUsers())
    if (auto round = dyn_cast<chunk::RoundOp>(user)) return b_.widen(round.getResult());
  return x;
}

// The row Σ_m (gradient∘x)[m,n]. Inside a sum, and for a contraction x = Σ_c p[c,m]·q[c,n] as Σ_c
// q[c,n]·(p·gradient)[c,n]: that product is q's own gradient.
Value Vjp::sum_of_products(Value gradient, Value x) {
  if (auto sum = x.getDefiningOp<chunk::AddOp>(); sum && sum.getX().getType() == sum.getY().getType())
    return b_.add(sum_of_products(gradient, sum.getX()), sum_of_products(gradient, sum.getY()));
  if (auto dot = x.getDefiningOp<chunk::DotOp>(); dot && dot.getXDim() == 0 && dot.getYDim() == 0)
    return b_.sum_rows(b_.mul(b_.dot(exact(b_, dot.getX()), 1, gradient, 0), b_.widen(dot.getY())));
  return b_.sum_rows(b_.mul(gradient, x));
}

void Vjp::row(chunk::RowOp op, Term g) {
  if (!is_active(op.getX())) return;
  int64_t last = chunk::rows(op.getX()) - 1, index = static_cast<int64_t>(op.getIndex());
  // The last row of a running sum is a sum of all rows.
  if (Value x = summed_down(op.getX()); x && index == last) return add(x, g.value, g.factor);
  add(op.getX(), b_.create<chunk::AtRowOp>(op.getX().getType(), g.value, index), g.factor);
}

// result[m,n] = Σ_c x·y: each operand's gradient contracts the result's with the other operand.
void Vjp::contraction(chunk::DotOp op, Term g) {
  // What is contracted over tokens: nothing from past the end may reach a token.
  if (spaces_.lookup(op.getResult()).rows == Axis::token && !finite_past_end(g.value)) g.value = b_.keep_valid(g.value);
  if (solve(op, g)) return;
  auto xd = static_cast<int64_t>(op.getXDim()), yd = static_cast<int64_t>(op.getYDim());
  Value x = exact(b_, op.getX()), y = exact(b_, op.getY());
  const auto dot = [&](Value a, int64_t i, Value b, int64_t j) {
    return op.getWide() ? b_.wide_dot(a, i, b, j) : b_.dot(a, i, b, j);
  };
  if (is_active(op.getX())) add(op.getX(), xd ? dot(g.value, 1, y, 1 - yd) : dot(y, 1 - yd, g.value, 1), g.factor);
  if (is_active(op.getY())) add(op.getY(), yd ? dot(g.value, 0, x, 1 - xd) : dot(x, 1 - xd, g.value, 0), g.factor);
}

Value Vjp::strictly_lower(Value x) { return is_strictly_lower(x) ? x : b_.tril(x, /*strict=*/true); }

// Adds to the gradient of x, which an inverse reads below the diagonal. Where x is zero elsewhere, x's own rule says
// so.
void Vjp::add_below_diagonal(Value x, Value value, double factor) {
  add(x, is_strictly_lower(x) ? value : strictly_lower(value), factor);
}

// U = M·Y with M = (I − X)⁻¹: dY = Mᵀ·dU and dX = dY·Uᵀ, instead of the inverse's own Mᵀ·dM·Mᵀ. Likewise F = A·M:
// where A is zero from the diagonal up, dX needs dA below the diagonal alone.
bool Vjp::solve(chunk::DotOp op, Term g) {
  Value x = exact(b_, op.getX()), y = exact(b_, op.getY()), result = op.getResult();
  if (auto M = x.getDefiningOp<chunk::UnitLowerInverseOp>(); M && op.getXDim() == 1 && op.getYDim() == 0) {
    Value dY = b_.dot(x, 0, g.value, 0);
    b_.set_measurable(dY);
    add(op.getY(), dY, g.factor);
    if (is_active(M.getX())) add_below_diagonal(M.getX(), b_.dot(dY, 1, result, 1), g.factor);
    return true;
  }
  if (auto M = y.getDefiningOp<chunk::UnitLowerInverseOp>(); M && op.getXDim() == 1 && op.getYDim() == 0) {
    Value dA = b_.precise_dot(g.value, 1, y, 1);
    if (is_strictly_lower(x)) dA = strictly_lower(dA);
    b_.set_measurable(dA);
    add(op.getX(), dA, g.factor);
    if (is_active(M.getX())) add_below_diagonal(M.getX(), b_.dot(result, 0, dA, 0), g.factor);
    return true;
  }
  return false;
}

// dX = Mᵀ·dM·Mᵀ of M = (I − X)⁻¹.
void Vjp::inverse(chunk::UnitLowerInverseOp op, Term g) {
  Value M = op.getResult(), left = b_.dot(M, 0, g.value, 0);
  b_.set_measurable(left);
  add_below_diagonal(op.getX(), b_.precise_dot(left, 1, M, 1), g.factor);
}

void Vjp::diagonal_dot(chunk::DiagonalDotOp op, Term g) {
  Value weight = b_.diagonal(g.value);
  add(op.getX(), b_.mul(weight, b_.widen(op.getY())), g.factor);
  add(op.getY(), b_.mul(weight, b_.widen(op.getX())), g.factor);
}

void Vjp::select_halves(chunk::SelectHalvesOp op, Term g) {
  if (is_active(op.getX())) add(op.getX(), b_.upper_rows(g.value, op.getHalf()), g.factor);
  if (is_active(op.getY())) add(op.getY(), b_.lower_rows(g.value, op.getHalf()), g.factor);
}

}  // namespace wkvc
