// Expressions: every operation checks dtypes and axes where the user wrote it.
#include <algorithm>
#include <cmath>

#include "codegen/rec/Limits.h"
#include "dsl/node.h"

namespace wkvc {
namespace detail {
namespace {

constexpr std::size_t longest_text = 60;

std::string abridged(std::string text) {
  return text.size() <= longest_text ? text : text.substr(0, longest_text - 3) + "...";
}

std::string text_of(float constant) { return fmt::format("{}f", constant); }

// What a value runs over, for messages.
std::string_view shape_of(std::optional<Dim::Axis> axis) {
  if (!axis) return "a V×K matrix";
  switch (*axis) {
    case Dim::Axis::K:
      return "a vector over keys (K)";
    case Dim::Axis::V:
      return "a vector over values (V)";
    case Dim::Axis::one:
      return "a scalar";
  }
  internal_error("no such axis");
}

bool is_sum(const Node& node) { return node.name.empty() && (node.kind == Kind::add || node.kind == Kind::sub); }
std::string factor(const Node& node) { return is_sum(node) ? "(" + node.text + ")" : node.text; }

NodePtr make(Kind kind, std::optional<Dim::Axis> axis, std::vector<NodePtr> operands, std::string text, At at) {
  constexpr int kMaxDepth = 2000;  // an expression is walked by recursion
  auto node = std::make_shared<Node>();
  for (const NodePtr& operand : operands) node->depth = std::max(node->depth, operand->depth + 1);
  if (node->depth > kMaxDepth) error_at(at, "the expression is more than {} operators deep: shorten it", kMaxDepth);
  node->kind = kind;
  node->axis = axis;
  node->operands = std::move(operands);
  node->text = abridged(std::move(text));
  node->at = at;
  return node;
}

NodePtr make_constant(float value, Dim::Axis axis, At at) {
  if (!std::isfinite(value)) error_at(at, "the constant {} is not finite", value);
  auto node = make(Kind::constant, axis, {}, text_of(value), at);
  node->constant = value;
  return node;
}

void require_f32(std::string_view what, const Node& x, At at) {
  if (x.dtype == f32) return;
  error_at(at, "'{}': '{}' is {}, but arithmetic is in f32; dtypes are never promoted: write cast<f32>({})", what,
           x.text, name_of(x.dtype), x.text);
}

void require_same_dtype(std::string_view what, const Node& lhs, const Node& rhs, At at) {
  if (lhs.dtype == rhs.dtype) return require_f32(what, lhs, at);
  std::string mend;
  for (const Node* x : {&lhs, &rhs})
    if (x->dtype != f32) mend += fmt::format("{}cast<f32>({})", mend.empty() ? "" : " and ", x->text);
  error_at(at, "'{}': '{}' is {} but '{}' is {}; dtypes are never promoted: write {}", what, lhs.text,
           name_of(lhs.dtype), rhs.text, name_of(rhs.dtype), mend);
}

void require_axis(std::string_view what, const Node& x, Dim::Axis axis, At at) {
  if (x.axis == axis) return;
  error_at(at, "'{}': '{}' is {}; expected {}", what, x.text, shape_of(x.axis), shape_of(axis));
}

[[noreturn]] void axes_differ(std::string_view what, const Node& lhs, const Node& rhs, At at) {
  const bool vectors = lhs.axis && rhs.axis && lhs.axis != Dim::Axis::one && rhs.axis != Dim::Axis::one;
  error_at(at, "'{}': '{}' is {} but '{}' is {}{}", what, lhs.text, shape_of(lhs.axis), rhs.text, shape_of(rhs.axis),
           vectors ? "; K and V stay apart even where they are equal" : "");
}

bool is_scalar(const Node& node) { return node.axis == Dim::Axis::one; }

// ---- Operators ------------------------------------------------------------------------------------------------------

// The two sides of an operator as nodes; a constant takes the axis of the other side, or is a scalar beside a matrix.
struct Sides {
  NodePtr lhs, rhs;
  At at;
};

Sides sides(const Operand& lhs, const Operand& rhs) {
  const Dim::Axis axis = (lhs.expr() ? lhs : rhs).expr()->node()->axis.value_or(Dim::Axis::one);
  const auto node = [axis](const Operand& x) {
    return x.expr() ? x.expr()->node() : make_constant(x.constant(), axis, x.at());
  };
  return {node(lhs), node(rhs), lhs.at()};
}

// A scalar beside a vector becomes a vector.
NodePtr spread(const NodePtr& x, std::optional<Dim::Axis> axis) {
  if (x->axis == axis || !axis || !is_scalar(*x)) return x;
  return make(Kind::broadcast, axis, {x}, x->text, x->at);
}

Expr sum(Kind kind, std::string_view symbol, const Operand& l, const Operand& r) {
  const auto [lhs, rhs, at] = sides(l, r);
  require_same_dtype(symbol, *lhs, *rhs, at);
  const NodePtr x = spread(lhs, rhs->axis), y = spread(rhs, lhs->axis);
  if (x->axis != y->axis) axes_differ(symbol, *lhs, *rhs, at);
  const std::string right = kind == Kind::sub ? factor(*rhs) : rhs->text;
  return Expr(make(kind, x->axis, {x, y}, fmt::format("{} {} {}", lhs->text, symbol, right), at));
}

Expr product(const Operand& l, const Operand& r) {
  const auto [lhs, rhs, at] = sides(l, r);
  require_same_dtype("*", *lhs, *rhs, at);
  const std::string text = factor(*lhs) + " * " + factor(*rhs);
  if (lhs->axis == rhs->axis && lhs->axis) return Expr(make(Kind::mul, lhs->axis, {lhs, rhs}, text, at));
  if (is_scalar(*lhs)) return Expr(make(Kind::scale, rhs->axis, {lhs, rhs}, text, at));
  if (is_scalar(*rhs)) return Expr(make(Kind::scale, lhs->axis, {rhs, lhs}, text, at));
  if (lhs->axis && rhs->axis) axes_differ("*", *lhs, *rhs, at);
  error_at(at, "'*': '{}' is {} and '{}' {}; a matrix is multiplied as S * diag(d), by a scalar, or in dot(S, k)",
           lhs->text, shape_of(lhs->axis), rhs->text, shape_of(rhs->axis));
}

Expr unary(Kind kind, std::string_view name, const Expr& x, At at) {
  const NodePtr& operand = x.node();
  require_f32(name, *operand, at);
  if (!operand->axis)
    error_at(at, "'{}': '{}' is {}; expected a vector or a scalar", name, operand->text, shape_of(operand->axis));
  const std::string text = name == "-" ? "-" + factor(*operand) : fmt::format("{}({})", name, operand->text);
  return Expr(make(kind, operand->axis, {operand}, text, at));
}

void check_range(double lo, double hi, At at) {
  if (!std::isfinite(lo) || !std::isfinite(hi)) error_at(at, "the range [{}, {}] is not finite", lo, hi);
  if (lo > hi) error_at(at, "the range [{}, {}] is empty: lo must not exceed hi", lo, hi);
}

}  // namespace

void check_compute(const std::optional<Compute>& compute, At at) {
  if (!compute || rec::is_compute(compute->name)) return;
  error_at(at, "compute is '{}'; expected {}", compute->name, rec::computes_text);
}

}  // namespace detail

using namespace detail;

Expr operator+(Operand lhs, Operand rhs) { return sum(Kind::add, "+", lhs, rhs); }
Expr operator-(Operand lhs, Operand rhs) { return sum(Kind::sub, "-", lhs, rhs); }
Expr operator*(Operand lhs, Operand rhs) { return product(lhs, rhs); }
Expr operator-(Operand x) { return unary(Kind::neg, "-", *x.expr(), x.at()); }

Diagonal diag(const Expr& vector) { return {vector}; }

Expr operator*(Operand matrix, const Diagonal& diagonal) {
  const NodePtr& d = diagonal.vector.node();
  const std::string text = fmt::format("diag({})", d->text);
  if (!matrix.expr() || matrix.expr()->node()->axis)
    error_at(matrix.at(), "'*': only a matrix is multiplied by '{}'", text);
  const NodePtr& m = matrix.expr()->node();
  require_f32("diag", *d, matrix.at());
  require_axis("diag", *d, Dim::Axis::K, matrix.at());
  return Expr(make(Kind::diag_mul, std::nullopt, {m, d}, factor(*m) + " * " + text, matrix.at()));
}

Expr exp(const Expr& x, At at) { return unary(Kind::exp, "exp", x, at); }
Expr log(const Expr& x, At at) { return unary(Kind::log, "log", x, at); }
Expr sigmoid(const Expr& x, At at) { return unary(Kind::sigmoid, "sigmoid", x, at); }
Expr tanh(const Expr& x, At at) { return unary(Kind::tanh, "tanh", x, at); }
Expr softplus(const Expr& x, At at) { return unary(Kind::softplus, "softplus", x, at); }
Expr relu(const Expr& x, At at) { return unary(Kind::relu, "relu", x, at); }
Expr sqrt(const Expr& x, At at) { return unary(Kind::sqrt, "sqrt", x, at); }
Expr reciprocal(const Expr& x, At at) { return unary(Kind::reciprocal, "reciprocal", x, at); }

Expr cast(DType dtype, const Expr& x, At at) {
  const NodePtr& operand = x.node();
  if (!operand->axis) error_at(at, "'cast': '{}' is a V×K matrix, which is always f32", operand->text);
  if (operand->dtype == dtype) error_at(at, "'cast': '{}' is already {}: drop the cast", operand->text, name_of(dtype));
  auto node =
      make(Kind::cast, operand->axis, {operand}, fmt::format("cast<{}>({})", name_of(dtype), operand->text), at);
  node->dtype = dtype;
  return Expr(node);
}

Expr dot(const Expr& lhs, const Expr& rhs, std::optional<Compute> compute, At at) {
  check_compute(compute, at);
  const NodePtr &l = lhs.node(), &r = rhs.node();
  const std::string text = fmt::format("dot({}, {})", l->text, r->text);
  if (l->axis && l->axis != r->axis) axes_differ("dot", *l, *r, at);
  if (!l->axis) require_axis("dot", *r, Dim::Axis::K, at);
  auto node = make(Kind::dot, l->axis ? Dim::Axis::one : Dim::Axis::V, {l, r}, text, at);
  node->compute = compute;
  return Expr(node);
}

Expr outer(const Expr& column, const Expr& row, std::optional<Compute> compute, At at) {
  check_compute(compute, at);
  require_axis("outer", *column.node(), Dim::Axis::V, at);
  require_axis("outer", *row.node(), Dim::Axis::K, at);
  const std::string text = fmt::format("outer({}, {})", column.node()->text, row.node()->text);
  auto node = make(Kind::outer, std::nullopt, {column.node(), row.node()}, text, at);
  node->compute = compute;
  return Expr(node);
}

Expr Expr::drawn(Drawn how, At at) const {
  if (node_->kind != Kind::input && node_->kind != Kind::parameter)
    error_at(at, "'drawn': '{}' is computed; expected an input or a parameter, before any cast", node_->text);
  node_->drawn = how;
  return *this;
}

Expr Expr::in(double lo, double hi, At at) const {
  check_range(lo, hi, at);
  if (node_->kind == Kind::input || node_->kind == Kind::parameter) {
    node_->range = {lo, hi};
    return *this;
  }
  require_f32("in", *node_, at);
  if (!node_->axis) error_at(at, "'in': '{}' is a V×K matrix; expected a vector or a scalar", node_->text);
  auto node = make(Kind::assume, node_->axis, {node_}, node_->text, at);
  node->range = {lo, hi};
  return Expr(node);
}

}  // namespace wkvc
