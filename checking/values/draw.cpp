#include "checking/values/draw.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "checking/values/declared_ranges.h"
#include "codegen/rec/Drawn.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

// Where a value goes through elementwise operations on vectors and scalars.
struct Uses {
  bool decays = false, others = false;
  int activations = 0;  // operations on the way but casts, declarations and exp
  int exponentials = 0;
};

// The state times `value`: by column, or as a whole.
bool decays_state(mlir::Operation* user, mlir::Value value) {
  if (auto product = llvm::dyn_cast<rec::DiagMulOp>(user)) return product.getDiagonal() == value;
  if (auto product = llvm::dyn_cast<rec::ScaleOp>(user)) return product.getScalar() == value && rec::is_matrix(product);
  return false;
}

bool is_elementwise(mlir::Operation* op) {
  return op->getNumResults() == 1 && !llvm::isa<rec::DotOp, rec::OuterOp>(op) && !rec::is_matrix(op->getResult(0));
}

Uses uses_of(mlir::Value tensor) {
  Uses uses;
  llvm::SmallVector<mlir::Value> pending{tensor};
  llvm::DenseSet<mlir::Operation*> seen;
  while (!pending.empty()) {
    const mlir::Value value = pending.pop_back_val();
    for (mlir::Operation* user : value.getUsers()) {
      if (!seen.insert(user).second) continue;
      if (decays_state(user, value)) {
        uses.decays = true;
      } else if (!is_elementwise(user)) {
        uses.others = true;
      } else {
        const bool exponential = llvm::isa<rec::ExpOp>(user);
        uses.exponentials += exponential ? 1 : 0;
        uses.activations += exponential || is_declaration(user) ? 0 : 1;
        pending.push_back(user->getResult(0));
      }
    }
  }
  return uses;
}

// The distribution that a definition says.
std::optional<Distribution> declared_distribution(mlir::Operation* op) {
  constexpr std::array distributions{Distribution::normal, Distribution::unit_norm, Distribution::uniform};
  const auto word = op->getAttrOfType<mlir::StringAttr>(rec::drawn_name);
  if (!word) return std::nullopt;
  const auto* const found = std::ranges::find(rec::distribution_names, std::string_view(word.getValue()));
  return distributions.at(static_cast<std::size_t>(found - rec::distribution_names.begin()));
}

Distribution distribution_of(mlir::Operation* op, rec::Dim dim) {
  if (const auto declared = declared_distribution(op)) return *declared;
  const Uses uses = uses_of(op->getResult(0));
  if (uses.decays && !uses.others) {
    if (uses.activations > 0 || uses.exponentials > 1) return Distribution::raw_decay;
    return uses.exponentials == 1 ? Distribution::log_decay : Distribution::decay;
  }
  if (llvm::isa<rec::ParameterOp>(op)) return Distribution::normal;
  switch (dim) {
    case rec::Dim::K:
      return Distribution::unit_norm;
    case rec::Dim::One:
      return Distribution::unit_interval;
    case rec::Dim::V:
      return Distribution::normal;
  }
  internal_error("an axis that is none");
}

mlir::Value without_casts(mlir::Value value) {
  while (mlir::Operation* op = value.getDefiningOp()) {
    if (!is_declaration(op)) break;
    value = op->getOperand(0);
  }
  return value;
}

// The a of a term outer(dot(S, a), b), for the input b; null when b is in no such term.
rec::InputOp read_before_writing(rec::InputOp b) {
  for (auto outer : b->getParentOfType<rec::RecurrenceOp>().getBody().getOps<rec::OuterOp>()) {
    if (without_casts(outer.getRow()) != b.getResult()) continue;
    auto dot = without_casts(outer.getColumn()).getDefiningOp<rec::DotOp>();
    if (!dot || !dot.getLhs().getDefiningOp<rec::StateOp>()) continue;
    auto a = without_casts(dot.getRhs()).getDefiningOp<rec::InputOp>();
    if (a && a != b) return a;
  }
  return {};
}

template <class Op>
Draw draw_for(Op op) {
  return {distribution_of(op, op.getDim()), declared_range(op), {}};
}

}  // namespace

Draw draw_of(rec::RecurrenceOp recurrence, const std::string& name) {
  for (auto op : recurrence.getBody().getOps<rec::InputOp>())
    if (op.getName() == name) {
      Draw draw = draw_for(op);
      if (rec::InputOp a = read_before_writing(op); a && !declared_distribution(op)) {
        draw.distribution = Distribution::erasure;
        draw.erased = a.getName().str();
      }
      return draw;
    }
  for (auto op : recurrence.getBody().getOps<rec::ParameterOp>())
    if (op.getName() == name) return draw_for(op);
  user_error("the kernel has an input '{}' that the recurrence '{}' has not", name, recurrence.getSymName().str());
}

}  // namespace wkvc
