#include "codegen/lower/Affine.h"

#include <cmath>

#include "codegen/ir/Text.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

// The name a rec value was given, for messages and for the lifted value.
std::string rec_name(Operation* op) {
  if (auto name = op->getAttrOfType<StringAttr>("name")) return name.getValue().str();
  return {};
}

}  // namespace

AffineAnalysis::AffineAnalysis(rec::RecurrenceOp recurrence, ChunkBuilder& builder, int64_t chunk)
    : recurrence_(recurrence), b_(builder), chunk_(chunk), next_(recurrence.update().getNext()) {}

void AffineAnalysis::run() {
  for (Operation& op : recurrence_.getBody().front()) visit(&op);
  const MatrixForm& form = next();
  if (!form.has_state) not_affine(next_.getDefiningOp(), "the new state does not contain the old one");
}

void AffineAnalysis::not_affine(Operation* op, const char* why) const {
  std::string where;
  if (auto loc = op->getLoc()->findInstanceOf<FileLineColLoc>())
    where = fmt::format("{}:{}: ", loc.getFilename().str(), loc.getLine());
  std::string name = rec_name(op), kind = op->getName().stripDialect().str();
  user_error(
      "{}'{}': the term {} ({}) is not affine in the state: {}. A chunked kernel needs "
      "S·(diag(w) + Σ a bᵀ) + Σ v kᵀ, read with dot before or after the update.",
      where, rec::RecurrenceOp(recurrence_).getSymName().str(), name.empty() ? "here" : "'" + name + "'", kind, why);
}

bool AffineAnalysis::depends_on_state(Value v) const {
  return matrices_.contains(v) || vectors_.contains(v) || late_values_.contains(v);
}

const VectorForm* AffineAnalysis::vector_form(Value v) const {
  auto it = vectors_.find(v);
  return it == vectors_.end() ? nullptr : &it->second;
}

VectorForm AffineAnalysis::form_of(Value v) const {
  if (const VectorForm* form = vector_form(v)) return *form;
  VectorForm form;
  form.plain = lifted(v);
  return form;
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
  user_error(
      "'{}': a contraction asks for {} operands but the recurrence for {}; operand dtypes of single contractions "
      "are not supported yet, choose one for all with op.compute or --mma",
      recurrence.getSymName().str(), pinned.getValue().str(), recurrence.getCompute().str());
}

void AffineAnalysis::visit(Operation* op) {
  check_compute(op);
  if (llvm::isa<rec::UpdateOp, rec::OutputOp>(op)) return;
  if (llvm::isa<rec::InputOp, rec::ParameterOp, rec::ConstantOp>(op)) return lift_source(op);
  if (auto state = llvm::dyn_cast<rec::StateOp>(op)) {
    matrices_[state.getResult()].has_state = true;
    return;
  }
  if (visit_matrix(op) || visit_vector(op)) return;
  if (llvm::any_of(op->getOperands(), [&](Value v) { return depends_on_state(v); })) {
    late_values_.insert(op->getResult(0));
    late_.push_back(op);
    return;
  }
  llvm::SmallVector<Value> operands;
  for (Value v : op->getOperands()) operands.push_back(lifted(v));
  Value result = lift(op, operands);
  if (auto name = rec_name(op); !name.empty() && name_of(result).empty()) set_name(result, name);
  values_[op->getResult(0)] = result;
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
    if (parameter.getDim() == rec::Dim::One)
      user_error("parameter '{}' is one number a head; expected one for each key or value: declare it over K or V",
                 parameter.getName().str());
    value = b_.create<chunk::ParameterOp>(as(1), parameter.getName(), rec::stringifyDim(parameter.getDim()));
  }
  set_name(value, rec_name(op));
  rec::Interval range = rec::range_of(token);
  if (range.bounded()) b_.set_at_most(value, range.magnitude());
  values_[token] = value;
}

Value AffineAnalysis::lift(Operation* op, llvm::ArrayRef<Value> x) {
  auto unary = [&](auto kind) -> Value { return b_.create<decltype(kind)>(x[0].getType(), x[0]); };
  Value result;
  if (llvm::isa<rec::AssumeOp, rec::BroadcastOp>(op)) return x[0];
  if (llvm::isa<rec::CastOp>(op)) {
    if (llvm::cast<RankedTensorType>(op->getResult(0).getType()).getElementType().isF32()) return b_.widen(x[0]);
    user_error(
        "'{}': a cast to anything but f32 inside a recurrence is not supported; the storage dtypes belong to "
        "inputs and outputs",
        recurrence_.getSymName().str());
  }
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
    not_affine(op, "only sums, diagonal scaling and outer products of vectors form a new state");
  return true;
}

MatrixForm AffineAnalysis::sum(Operation* op, MatrixForm x, MatrixForm y, bool negate) {
  if (x.has_state && y.has_state) not_affine(op, "the state is added to itself; scale it once with diag");
  if (y.has_state && negate) not_affine(op, "the state is subtracted; write its decay as a factor in [0, 1]");
  if (y.has_state) std::swap(x, y);
  auto flip = [&](std::vector<RankOne>& terms) {
    for (RankOne& term : terms) term.left = b_.neg(b_.widen(term.left));
  };
  if (negate) flip(y.rank), flip(y.input);
  x.rank.insert(x.rank.end(), y.rank.begin(), y.rank.end());
  x.input.insert(x.input.end(), y.input.begin(), y.input.end());
  return x;
}

// The log of a factor of the state, and what is known of it.
Value AffineAnalysis::log_of(Operation* op, Value token_factor, rec::Interval& range) {
  if (auto exp = token_factor.getDefiningOp<rec::ExpOp>()) {
    range = rec::range_of(exp.getOperand());
    return b_.widen(lifted(exp.getOperand()));
  }
  rec::Interval factor = rec::range_of(token_factor);
  if (factor.lo < 0) not_affine(op, "the decay may be negative; write exp(log_w), or declare its range with .in(0, 1)");
  range = {std::log(factor.lo), std::log(factor.hi)};
  return b_.log(lifted(token_factor));
}

MatrixForm AffineAnalysis::scaled(Operation* op, MatrixForm x, Value token_factor) {
  if (depends_on_state(token_factor)) not_affine(op, "the decay depends on the state");
  Value factor = lifted(token_factor);
  if (x.has_state) {
    rec::Interval range;
    Value log_factor = log_of(op, token_factor, range);
    x.decay = x.decay ? b_.mul(x.decay, factor) : factor;
    x.log_decay = x.log_decay ? b_.add(x.log_decay, log_factor) : log_factor;
    x.log_range = {x.log_range.lo + range.lo, x.log_range.hi + range.hi};
  }
  for (RankOne& term : x.rank) term.right = b_.mul(b_.widen(term.right), factor);
  for (RankOne& term : x.input) term.right = b_.mul(b_.widen(term.right), factor);
  return x;
}

MatrixForm AffineAnalysis::outer(rec::OuterOp op) {
  Value row = op.getRow(), column = op.getColumn();
  if (depends_on_state(row)) not_affine(op, "its row depends on the state, so it mixes key columns");
  if (late_values_.contains(column)) not_affine(op, "a nonlinear function of the state feeds the update");
  VectorForm form = form_of(column);
  if (!form.after.empty()) not_affine(op, "the state after the update feeds the update");
  MatrixForm result;
  Value k = b_.widen(full(row, 'K'));
  for (Value q : form.before) result.rank.push_back({q, k});
  if (form.plain) result.input.push_back({b_.widen(full(form.plain, column, 'V')), k});
  for (const auto& p : form.products) result.input.push_back({b_.mul(b_.widen(p.v), b_.row_dot(p.x, p.y)), k});
  return result;
}

//===- Vectors that read the state -------------------------------------------------------------------------------===//

bool AffineAnalysis::visit_vector(Operation* op) {
  Value result = op->getResult(0);
  if (auto dot = llvm::dyn_cast<rec::DotOp>(op)) {
    if (!matrices_.contains(dot.getLhs())) return false;
    if (depends_on_state(dot.getRhs())) not_affine(op, "the state is read with a vector that depends on the state");
    vectors_[result] = apply(dot);
    return true;
  }
  // v·(x·y) stays a product of vectors, so that no matrix is made of it.
  if (auto scale = llvm::dyn_cast<rec::ScaleOp>(op)) {
    auto dot = scale.getScalar().getDefiningOp<rec::DotOp>();
    if (dot && !depends_on_state(scale.getScalar()) && !depends_on_state(scale.getValue())) {
      VectorForm form;
      form.products.push_back({full(scale.getValue(), 'V'), full(dot.getLhs(), 'K'), full(dot.getRhs(), 'K')});
      vectors_[result] = form;
      return true;
    }
  }
  if (auto scale = llvm::dyn_cast<rec::ScaleOp>(op); scale && vectors_.contains(scale.getValue())) {
    if (depends_on_state(scale.getScalar())) return false;
    vectors_[result] = scaled(form_of(scale.getValue()), lifted(scale.getScalar()));
    return true;
  }
  bool any_form = llvm::any_of(op->getOperands(), [&](Value v) { return vectors_.contains(v); });
  bool any_late = llvm::any_of(op->getOperands(), [&](Value v) { return late_values_.contains(v); });
  if (!any_form || any_late) return false;
  if (llvm::isa<rec::AddOp, rec::SubOp>(op)) {
    vectors_[result] = sum(form_of(op->getOperand(0)), form_of(op->getOperand(1)), llvm::isa<rec::SubOp>(op));
    return true;
  }
  if (llvm::isa<rec::NegOp>(op)) {
    vectors_[result] = sum(VectorForm{}, form_of(op->getOperand(0)), true);
    return true;
  }
  return false;
}

VectorForm AffineAnalysis::apply(rec::DotOp op) {
  const MatrixForm& matrix = matrices_.find(op.getLhs())->second;
  Value q = b_.widen(full(op.getRhs(), 'K'));
  VectorForm form;
  if (op.getLhs() == next_) {
    form.after.push_back(q);
    return form;
  }
  if (matrix.has_state) form.before.push_back(matrix.decay ? b_.mul(matrix.decay, q) : q);
  for (const RankOne& term : matrix.rank) form.before.push_back(b_.mul(b_.widen(term.left), b_.row_dot(term.right, q)));
  for (const RankOne& term : matrix.input) form.products.push_back({term.left, term.right, q});
  return form;
}

VectorForm AffineAnalysis::scaled(VectorForm form, Value token_scalar) {
  for (Value& q : form.before) q = b_.mul(q, token_scalar);
  for (Value& q : form.after) q = b_.mul(q, token_scalar);
  for (auto& p : form.products) p.x = b_.mul(b_.widen(p.x), token_scalar);
  if (form.plain) form.plain = b_.mul(b_.widen(form.plain), token_scalar);
  return form;
}

VectorForm AffineAnalysis::sum(VectorForm x, VectorForm y, bool negate) {
  if (negate) {
    for (Value& q : y.before) q = b_.neg(q);
    for (Value& q : y.after) q = b_.neg(q);
    for (auto& p : y.products) p.x = b_.neg(b_.widen(p.x));
    if (y.plain) y.plain = b_.neg(b_.widen(y.plain));
  }
  x.before.insert(x.before.end(), y.before.begin(), y.before.end());
  x.after.insert(x.after.end(), y.after.begin(), y.after.end());
  x.products.insert(x.products.end(), y.products.begin(), y.products.end());
  if (y.plain) x.plain = x.plain ? b_.add(b_.widen(x.plain), b_.widen(y.plain)) : y.plain;
  return x;
}

}  // namespace wkvc
