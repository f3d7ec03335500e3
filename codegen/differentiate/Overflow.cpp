#include "codegen/differentiate/Overflow.h"

#include <llvm/ADT/TypeSwitch.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace wkvc {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns whether the operation has a slope of zero towards one of the infinities.
bool swallows(Operation* op) {
  return isa<chunk::ExpOp, chunk::Exp2Op, chunk::SigmoidOp, chunk::TanhOp, chunk::SoftplusOp, chunk::ReluOp,
             chunk::AtLeastOp, chunk::ReciprocalOp>(op);
}

// Returns whether an infinite operand ends up in contractions or results, which are then not finite.
bool ends_in(Operation* op) { return op->getNumResults() == 0 || isa<chunk::DotOp, chunk::RoundOp>(op); }

}  // namespace

bool Overflow::is_swallowed(Value x) {
  if (auto known = swallowed_.find(x); known != swallowed_.end()) return known->second;
  const bool found = llvm::any_of(x.getUsers(), [&](Operation* user) {
    if (ends_in(user) || !primals_.contains(user->getResult(0))) return false;
    return swallows(user) || is_swallowed(user->getResult(0));
  });
  return swallowed_[x] = found;
}

double Overflow::largest(Value x) {
  if (auto known = largest_.find(x); known != largest_.end()) return known->second;
  Operation* op = x.getDefiningOp();
  auto declared = op->getAttrOfType<FloatAttr>("at_most");
  const bool is_number = declared && !op->hasAttr("of");
  const double found = is_number ? declared.getValueAsDouble() : largest_of(op);
  return largest_[x] = found;
}

double Overflow::largest_of(Operation* op) {
  const auto operand = [&](unsigned i) { return largest(op->getOperand(i)); };
  return llvm::TypeSwitch<Operation*, double>(op)
      .Case<chunk::InputOp, chunk::ParameterOp>([](Operation*) { return std::numeric_limits<float>::max(); })
      .Case([](chunk::ConstantOp constant) { return std::abs(constant.getValue().convertToDouble()); })
      .Case<chunk::SigmoidOp, chunk::TanhOp, chunk::ExceedsOp>([](Operation*) { return 1; })
      .Case<chunk::WidenOp, chunk::NegOp, chunk::ReluOp, chunk::KeepValidOp, chunk::TrilOp, chunk::LevelPairsOp,
            chunk::UpperRowsOp, chunk::LowerRowsOp, chunk::RowOp>([&](Operation*) { return operand(0); })
      .Case([&](chunk::AtLeastOp least) {
        return std::max(operand(0), std::abs(static_cast<double>(least.getBound().convertToFloat())));
      })
      // Beside the largest number of f32 what is added to a large operand rounds to nothing.
      .Case<chunk::SoftplusOp, chunk::SqrtOp>([&](Operation*) { return std::max(operand(0), 1.0); })
      .Case<chunk::AddOp, chunk::SubOp>([&](Operation*) { return operand(0) + operand(1); })
      .Case([&](chunk::MulOp) { return operand(0) * operand(1); })
      .Default([](Operation*) { return kInfinity; });
}

}  // namespace wkvc
