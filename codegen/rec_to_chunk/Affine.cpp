#include "codegen/rec_to_chunk/Affine.h"

#include <cmath>

#include "codegen/ir/Text.h"
#include "codegen/ir/Where.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// The name a rec value was given, for messages and for the lifted value.
std::string rec_name(Operation* op) {
  if (auto name = op->getAttrOfType<StringAttr>("name")) return name.getValue().str();
  return {};
}

std::optional<double> number_in(Value x) {
  auto constant = x.getDefiningOp<chunk::ConstantOp>();
  if (!constant || constant.getDims()) return std::nullopt;
  return constant.getValue().convertToDouble();
}

// The product of two numbers is a number: no kernel computes with numbers alone.
Value product(ChunkBuilder& b, Value x, Value y) {
  auto p = number_in(x), q = number_in(y);
  return p && q ? b.number(*p * *q) : b.mul(x, y);
}

Value total(ChunkBuilder& b, Value x, Value y) {
  auto p = number_in(x), q = number_in(y);
  return p && q ? b.number(*p + *q) : b.add(x, y);
}

Value negated(ChunkBuilder& b, Value x) {
  auto p = number_in(x);
  return p ? b.number(-*p) : b.neg(x);
}

}  // namespace

AffineAnalysis::AffineAnalysis(rec::RecurrenceOp recurrence, ChunkBuilder& builder, int64_t chunk)
    : recurrence_(recurrence),
      b_(builder),
      chunk_(chunk),
      next_(recurrence.update().getNext()),
      dependences_(recurrence) {}

void AffineAnalysis::run() {
  for (Operation& op : recurrence_.getBody().front()) {
    b_.set_location(op.getLoc());
    visit(&op);
  }
  b_.set_location(recurrence_.getLoc());
  const MatrixForm& form = next();
  if (!form.has_state)
    refuse(next_.getDefiningOp(), form.rank.empty() ? "the new state does not contain the old one; add S * diag(w)"
                                                    : "the new state holds only reads of the old one; add S * diag(w)");
  if (form.negated) refuse(form.negated, "the state is subtracted; write its decay as a factor in [0, 1]");
}

void AffineAnalysis::refuse(Operation* op, const std::string& why) const {
  const std::string name = rec_name(op), kind = op->getName().stripDialect().str();
  const bool affine = dependences_[op->getResult(0)] != rec::Dependence::nonlinear;
  user_error_at(op,
                "'{}': the term {} ({}) is {} in the state: {}. A chunked kernel needs "
                "S·(diag(w) + Σ a bᵀ) + Σ v kᵀ, read with dot before or after the update.",
                rec::RecurrenceOp(recurrence_).getSymName().str(), name.empty() ? "here" : "'" + name + "'", kind,
                affine ? "not supported, though it is affine" : "not affine", why);
}

bool AffineAnalysis::depends_on_state(Value v) const { return dependences_[v] != rec::Dependence::none; }

const VectorForm* AffineAnalysis::vector_form(Value v) const {
  auto it = vectors_.find(v);
  return it == vectors_.end() ? nullptr : &it->second;
}

VectorForm AffineAnalysis::form_of(Value v) {
  if (const VectorForm* form = vector_form(v)) return *form;
  VectorForm form;
  form.plain = lifted(v);
  return form;
}

// A value with a vector form of its own is lifted where it is needed.
Value AffineAnalysis::lifted(Value token_value) {
  if (Value known = values_.lookup(token_value)) return known;
  Operation* op = token_value.getDefiningOp();
  llvm::SmallVector<Value> operands;
  for (Value v : op->getOperands()) operands.push_back(lifted(v));
  Value result = lift(op, operands);
  if (auto name = rec_name(op); !name.empty() && name_of(result).empty()) set_name(result, name);
  return values_[token_value] = result;
}

Value AffineAnalysis::full(Value x, Value token_value, char dim) {
  int64_t extent = llvm::cast<RankedTensorType>(token_value.getType()).getDimSize(0);
  if (chunk::rows(x) == chunk_ && chunk::columns(x) == extent) return x;
  return b_.spread(b_.widen(x), chunk_, extent, std::string("T") + dim);
}

// Chunked contractions are not the token's: one of them may stand for several, so they share one dtype.
void AffineAnalysis::check_compute(Operation* op) const {
  auto pinned = op->getAttrOfType<StringAttr>("compute");
  auto recurrence = rec::RecurrenceOp(recurrence_);
  if (!pinned || pinned.getValue() == recurrence.getCompute()) return;
  user_error_at(
      op,
      "'{}': a contraction asks for {} operands but the recurrence for {}; operand dtypes of single contractions "
      "are not supported yet, choose one for all with op.compute or --mma",
      recurrence.getSymName().str(), pinned.getValue().str(), recurrence.getCompute().str());
}

void AffineAnalysis::check(Operation* op) const {
  check_compute(op);
  auto cast = llvm::dyn_cast<rec::CastOp>(op);
  if (cast && !llvm::cast<RankedTensorType>(cast.getType()).getElementType().isF32())
    user_error_at(op,
                  "'{}': a cast to anything but f32 inside a recurrence is not supported; the storage dtypes belong to "
                  "inputs and outputs",
                  rec::RecurrenceOp(recurrence_).getSymName().str());
}

void AffineAnalysis::visit(Operation* op) {
  check(op);
  if (llvm::isa<rec::UpdateOp, rec::OutputOp>(op)) return;
  if (llvm::isa<rec::InputOp, rec::ParameterOp, rec::ConstantOp>(op)) return lift_source(op);
  if (auto state = llvm::dyn_cast<rec::StateOp>(op)) {
    matrices_[state.getResult()].has_state = true;
    return;
  }
  if (visit_matrix(op) || visit_vector(op)) return;
  if (depends_on_state(op->getResult(0)))
    late_.push_back(op);
  else
    lifted(op->getResult(0));
}

void AffineAnalysis::lift_source(Operation* op) {
  Value token = op->getResult(0);
  auto type = llvm::cast<RankedTensorType>(token.getType());
  if (auto constant = llvm::dyn_cast<rec::ConstantOp>(op)) {
    values_[token] = b_.number(constant.getValue().convertToDouble());
    return;
  }
  auto as = [&](int64_t rows) { return RankedTensorType::get({rows, type.getDimSize(0)}, type.getElementType()); };
  Value value;
  if (auto input = llvm::dyn_cast<rec::InputOp>(op)) {
    value = b_.create<chunk::InputOp>(as(chunk_), input.getName(), rec::stringifyDim(input.getDim()), StringAttr(),
                                      /*kept=*/false);
  } else if (auto parameter = llvm::dyn_cast<rec::ParameterOp>(op)) {
    const llvm::StringRef dim = rec::stringifyDim(parameter.getDim());
    if (parameter.getDim() == rec::Dim::One)
      value = b_.create<chunk::InputOp>(as(chunk_), parameter.getName(), dim, StringAttr(), /*kept=*/false,
                                        /*shared=*/false, /*of_head=*/true);
    else
      value = b_.create<chunk::ParameterOp>(as(1), parameter.getName(), dim);
  }
  set_name(value, rec_name(op));
  rec::Interval range = rec::range_of(token);
  if (range.bounded()) b_.set_at_most(value, range.magnitude());
  values_[token] = value;
}

// Returns `x` with its declared range. What is stored has its largest element measured.
Value AffineAnalysis::assumed(Operation* assume, Value x) {
  const rec::Interval range = rec::range_of(assume->getResult(0));
  Operation* made = x.getDefiningOp();
  if (range.bounded() && !llvm::isa<chunk::WidenOp, chunk::InputOp, chunk::ParameterOp>(made) &&
      !made->hasAttr("at_most"))
    b_.set_at_most(x, range.magnitude());
  return x;
}

Value AffineAnalysis::lift(Operation* op, llvm::ArrayRef<Value> x) {
  auto unary = [&](auto kind) -> Value { return b_.create<decltype(kind)>(x[0].getType(), x[0]); };
  Value result;
  if (llvm::isa<rec::AssumeOp>(op)) return assumed(op, x[0]);
  if (llvm::isa<rec::BroadcastOp>(op)) return x[0];
  if (llvm::isa<rec::CastOp>(op)) return b_.widen(x[0]);
  if (llvm::isa<rec::NegOp>(op))
    result = unary(chunk::NegOp());
  else if (llvm::isa<rec::ExpOp>(op))
    result = unary(chunk::ExpOp());
  else if (llvm::isa<rec::LogOp>(op))
    result = unary(chunk::LogOp());
  else if (llvm::isa<rec::SigmoidOp>(op))
    result = unary(chunk::SigmoidOp());
  else if (llvm::isa<rec::TanhOp>(op))
    result = unary(chunk::TanhOp());
  else if (llvm::isa<rec::SoftplusOp>(op))
    result = unary(chunk::SoftplusOp());
  else if (llvm::isa<rec::ReluOp>(op))
    result = unary(chunk::ReluOp());
  else if (llvm::isa<rec::SqrtOp>(op))
    result = unary(chunk::SqrtOp());
  else if (llvm::isa<rec::ReciprocalOp>(op))
    result = unary(chunk::ReciprocalOp());
  else if (llvm::isa<rec::AddOp>(op))
    result = b_.add(x[0], x[1]);
  else if (llvm::isa<rec::SubOp>(op))
    result = b_.sub(x[0], x[1]);
  else if (llvm::isa<rec::MulOp, rec::ScaleOp>(op))
    result = b_.mul(x[0], x[1]);
  else if (llvm::isa<rec::DotOp>(op)) {
    int64_t extent = llvm::cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(0);
    Value products = b_.mul(b_.widen(x[0]), b_.widen(x[1]));
    result =
        chunk::columns(products) == extent ? b_.sum_columns(products) : b_.scale(products, static_cast<double>(extent));
  } else
    internal_error("no chunk form of '{}'", op->getName().getStringRef().str());
  rec::Interval range = rec::range_of(op->getResult(0));
  if (range.bounded()) b_.set_at_most(result, range.magnitude());
  return result;
}

//===- Matrices ------------------------------------------------------------------------------------------------===//

bool AffineAnalysis::visit_matrix(Operation* op) {
  Value result = op->getResult(0);
  if (llvm::cast<RankedTensorType>(result.getType()).getRank() != 2) return false;
  if (auto outer_op = llvm::dyn_cast<rec::OuterOp>(op))
    matrices_[result] = outer(outer_op);
  else if (auto diag = llvm::dyn_cast<rec::DiagMulOp>(op))
    matrices_[result] = scaled(op, matrices_.lookup(diag.getMatrix()), diag.getDiagonal());
  else if (auto scale = llvm::dyn_cast<rec::ScaleOp>(op))
    matrices_[result] = scaled(op, matrices_.lookup(scale.getValue()), scale.getScalar());
  else if (llvm::isa<rec::AddOp, rec::SubOp>(op))
    matrices_[result] =
        sum(op, matrices_.lookup(op->getOperand(0)), matrices_.lookup(op->getOperand(1)), llvm::isa<rec::SubOp>(op));
  else
    refuse(op, "only sums, diagonal scaling and outer products of vectors form a new state");
  return true;
}

MatrixForm AffineAnalysis::sum(Operation* op, MatrixForm x, MatrixForm y, bool negate) {
  if (x.has_state && y.has_state) refuse(op, "the state is added to itself; scale it once with diag");
  auto flip = [&](std::vector<RankOne>& terms) {
    for (RankOne& term : terms) term.left = b_.neg(b_.widen(term.left));
  };
  if (negate) {
    flip(y.rank), flip(y.input);
    if (y.has_state) y.negated = y.negated ? nullptr : op;
  }
  if (y.has_state) std::swap(x, y);
  x.rank.insert(x.rank.end(), y.rank.begin(), y.rank.end());
  x.input.insert(x.input.end(), y.input.begin(), y.input.end());
  return x;
}

AffineAnalysis::Factor AffineAnalysis::state_factor(Operation* op, Value token_factor) {
  Value value = lifted(token_factor);
  if (auto exp = token_factor.getDefiningOp<rec::ExpOp>())
    return {value, b_.widen(lifted(exp.getOperand())), rec::range_of(exp.getOperand()), false};
  rec::Interval range = rec::range_of(token_factor);
  if (range.lo == 0 && range.hi == 0) refuse(op, "the factor of the state is 0, so that nothing of it stays");
  const bool negative = range.hi <= 0;
  if (negative) {
    value = negated(b_, value);
    range = {-range.hi, -range.lo};
  }
  if (range.lo < 0)
    refuse(op,
           "the decay may be negative; write exp(log_w), or declare its range, .in(0, 1) or in texts in [0.0, 1.0]");
  return {value, b_.log(value), {std::log(range.lo), std::log(range.hi)}, negative};
}

MatrixForm AffineAnalysis::scaled(Operation* op, MatrixForm x, Value token_factor) {
  if (depends_on_state(token_factor))
    refuse(op, dependences_[op->getResult(0)] == rec::Dependence::nonlinear
                   ? "the decay depends on the state"
                   : "the factor of this matrix depends on the state, so it mixes value rows");
  if (x.has_state) {
    const Factor factor = state_factor(op, token_factor);
    x.decay = x.decay ? product(b_, x.decay, factor.value) : factor.value;
    x.log_decay = x.log_decay ? total(b_, x.log_decay, factor.log) : factor.log;
    x.log_range = {x.log_range.lo + factor.log_range.lo, x.log_range.hi + factor.log_range.hi};
    x.scaled = op;
    if (factor.negative) x.negated = x.negated ? nullptr : op;
  }
  Value factor = lifted(token_factor);
  for (RankOne& term : x.rank) term.right = b_.mul(b_.widen(term.right), factor);
  for (RankOne& term : x.input) term.right = b_.mul(b_.widen(term.right), factor);
  return x;
}

// The reason why a column may not feed the update although the column reads the state.
std::string AffineAnalysis::why_not_fed_back(Value column) const {
  if (dependences_[column] == rec::Dependence::nonlinear) return "a nonlinear function of the state feeds the update";
  Operation* op = column.getDefiningOp();
  auto late = [&](Value v) { return depends_on_state(v) && !vectors_.contains(v); };
  for (auto it = op->operand_begin(); it != op->operand_end();)
    if (late(*it)) {
      op = (*it).getDefiningOp();
      it = op->operand_begin();
    } else {
      ++it;
    }
  std::string name = rec_name(op), at = where(op);
  name = fmt::format("{}{}", name.empty() ? op->getName().stripDialect().str() : "'" + name + "'",
                     at.empty() ? "" : " (" + at.substr(0, at.size() - 2) + ")");
  if (llvm::isa<rec::MulOp>(op))
    return fmt::format(
        "{} multiplies each value row of what it reads by a factor of its own, and a kernel takes all rows alike; "
        "multiply by a scalar, multiply the outer product's key vector, or multiply in an output",
        name);
  return fmt::format(
      "{} mixes value rows of what it reads, and a kernel takes each row by itself; do so in an output only", name);
}

MatrixForm AffineAnalysis::outer(rec::OuterOp op) {
  Value row = op.getRow(), column = op.getColumn();
  if (depends_on_state(row))
    refuse(op,
           "its key vector depends on the state, so it mixes value rows; let its value vector alone read the state");
  if (depends_on_state(column) && !vectors_.contains(column)) refuse(op, why_not_fed_back(column));
  VectorForm form = before_update(form_of(column));
  MatrixForm result;
  Value k = b_.widen(full(row, 'K'));
  for (Value q : form.before) result.rank.push_back({q, k});
  if (form.plain) result.input.push_back({b_.widen(full(form.plain, column, 'V')), k});
  for (const auto& p : form.products) result.input.push_back({b_.mul(b_.widen(p.v), b_.row_dot(p.x, p.y)), k});
  return result;
}

//===- Vectors that read the state -------------------------------------------------------------------------------===//

// v·(x·y), which stays a product of vectors, so that no matrix is made of it.
bool AffineAnalysis::is_product(Operation* op) const {
  auto scale = llvm::dyn_cast<rec::ScaleOp>(op);
  auto dot = scale ? scale.getScalar().getDefiningOp<rec::DotOp>() : rec::DotOp();
  return dot && !depends_on_state(scale.getResult()) && rec::dim_of(scale.getValue()) == rec::Dim::V &&
         rec::dim_of(dot.getLhs()) == rec::Dim::K;
}

bool AffineAnalysis::visit_vector(Operation* op) {
  Value result = op->getResult(0);
  if (auto dot = llvm::dyn_cast<rec::DotOp>(op)) {
    if (!matrices_.contains(dot.getLhs())) return false;
    if (depends_on_state(dot.getRhs())) refuse(op, "the state is read with a vector that depends on the state");
    vectors_[result] = apply(dot);
    return true;
  }
  if (is_product(op)) {
    auto scale = llvm::cast<rec::ScaleOp>(op);
    auto dot = scale.getScalar().getDefiningOp<rec::DotOp>();
    VectorForm form;
    form.products.push_back({full(scale.getValue(), 'V'), full(dot.getLhs(), 'K'), full(dot.getRhs(), 'K')});
    vectors_[result] = form;
    return true;
  }
  bool any_form = llvm::any_of(op->getOperands(), [&](Value v) { return vectors_.contains(v); });
  bool any_late =
      llvm::any_of(op->getOperands(), [&](Value v) { return depends_on_state(v) && !vectors_.contains(v); });
  if (!any_form || any_late) return false;
  if (llvm::isa<rec::ScaleOp, rec::MulOp>(op)) return visit_product(op);
  if (llvm::isa<rec::AddOp, rec::SubOp>(op))
    vectors_[result] = sum(form_of(op->getOperand(0)), form_of(op->getOperand(1)), llvm::isa<rec::SubOp>(op));
  else if (llvm::isa<rec::NegOp>(op))
    vectors_[result] = sum(VectorForm{}, form_of(op->getOperand(0)), true);
  else if (llvm::isa<rec::AssumeOp>(op))
    vectors_[result] = form_of(op->getOperand(0));
  else
    return false;
  return true;
}

// A vector form times one number a token, which may stand in every element of a vector.
bool AffineAnalysis::visit_product(Operation* op) {
  for (auto [x, factor] : {std::pair{op->getOperand(0), op->getOperand(1)}, {op->getOperand(1), op->getOperand(0)}}) {
    if (!vectors_.contains(x) || depends_on_state(factor)) continue;
    if (Value number = lifted(factor); chunk::columns(number) == 1) {
      vectors_[op->getResult(0)] = scaled(form_of(x), number);
      return true;
    }
  }
  return false;
}

VectorForm AffineAnalysis::apply(rec::DotOp op) {
  Value q = b_.widen(full(op.getRhs(), 'K'));
  VectorForm form;
  if (op.getLhs() == next_)
    form.after.push_back(q);
  else
    read(matrices_.find(op.getLhs())->second, q, form);
  return form;
}

void AffineAnalysis::read(const MatrixForm& matrix, Value q, VectorForm& form) {
  if (matrix.has_state) {
    Value decayed = matrix.decay ? b_.mul(matrix.decay, q) : q;
    form.before.push_back(matrix.negated ? b_.neg(decayed) : decayed);
  }
  for (const RankOne& term : matrix.rank) form.before.push_back(b_.mul(b_.widen(term.left), b_.row_dot(term.right, q)));
  for (const RankOne& term : matrix.input) form.products.push_back({term.left, term.right, q});
}

// Turns reads of the state after the update into reads of the state before the update.
VectorForm AffineAnalysis::before_update(VectorForm form) {
  for (Value q : std::exchange(form.after, {})) read(next(), q, form);
  return form;
}

VectorForm AffineAnalysis::scaled(VectorForm form, Value token_scalar) {
  for (Value& q : form.before) q = b_.mul(q, token_scalar);
  for (Value& q : form.after) q = b_.mul(q, token_scalar);
  for (auto& p : form.products) p.x = b_.mul(b_.widen(p.x), token_scalar);
  if (form.plain) form.plain = product(b_, b_.widen(form.plain), token_scalar);
  return form;
}

VectorForm AffineAnalysis::sum(VectorForm x, VectorForm y, bool negate) {
  if (negate) {
    for (Value& q : y.before) q = b_.neg(q);
    for (Value& q : y.after) q = b_.neg(q);
    for (auto& p : y.products) p.x = b_.neg(b_.widen(p.x));
    if (y.plain) y.plain = negated(b_, b_.widen(y.plain));
  }
  x.before.insert(x.before.end(), y.before.begin(), y.before.end());
  x.after.insert(x.after.end(), y.after.begin(), y.after.end());
  x.products.insert(x.products.end(), y.products.begin(), y.products.end());
  if (y.plain) x.plain = x.plain ? total(b_, b_.widen(x.plain), b_.widen(y.plain)) : y.plain;
  return x;
}

}  // namespace wkvc
