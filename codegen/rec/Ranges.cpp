#include "codegen/rec/Ranges.h"

#include <algorithm>
#include <cmath>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include "codegen/rec/Scalars.h"

namespace wkvc::rec {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr Interval everything = {};

// An infinite bound stands for arbitrarily large finite numbers, so 0 times one is 0.
Interval times(Interval a, Interval b) {
  const auto [lo, hi] =
      std::minmax({product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo), product(a.hi, b.hi)});
  return {lo, hi};
}

Interval square(Interval a) {
  const double far = a.magnitude();
  const double near = a.lo > 0 ? a.lo : a.hi < 0 ? a.hi : 0;
  return {near * near, far * far};
}

Interval reciprocal(Interval a) {
  if (a.lo < 0 && a.hi > 0) return everything;
  if (a.lo == 0 && a.hi == 0) return everything;
  if (a.lo >= 0) return {1 / a.hi, a.lo == 0 ? inf : 1 / a.lo};
  return {a.hi == 0 ? -inf : 1 / a.hi, 1 / a.lo};
}

Interval intersection(Interval a, Interval b) {
  const Interval both = {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return both.lo <= both.hi ? both : b;  // the user's word, where it contradicts what is proven
}

Interval declared(llvm::ArrayRef<double> range) { return {range[0], range[1]}; }

double log_of(double x) { return x > 0 ? std::log(x) : -inf; }
double sqrt_of(double x) { return x > 0 ? std::sqrt(x) : 0; }
double relu(double x) { return std::max(x, 0.0); }

class Ranges {
 public:
  void visit(mlir::Operation& op) {
    if (op.getNumResults() == 1) known_[op.getResult(0)] = result_of(op);
  }
  Interval operator[](mlir::Value value) const { return known_.lookup(value); }

 private:
  using Function = double (*)(double);

  // Of a function that never decreases.
  Interval rising(mlir::Operation* op, Function f) const {
    const Interval x = (*this)[op->getOperand(0)];
    return {f(x.lo), f(x.hi)};
  }

  Interval result_of(mlir::Operation& op) const {
    const auto& of = *this;
    return llvm::TypeSwitch<mlir::Operation*, Interval>(&op)
        .Case<InputOp, ParameterOp>([](auto in) { return in.getRange() ? declared(*in.getRange()) : everything; })
        .Case([](ConstantOp constant) {
          const double value = constant.getValue().convertToFloat();
          return Interval{value, value};
        })
        .Case([&](AssumeOp assume) { return intersection(of[assume.getOperand()], declared(assume.getRange())); })
        .Case([&](CastOp cast) { return of[cast.getOperand()]; })
        .Case([&](BroadcastOp broadcast) { return of[broadcast.getScalar()]; })
        .Case([&](NegOp neg) { return Interval{-of[neg.getOperand()].hi, -of[neg.getOperand()].lo}; })
        .Case([&](ExpOp exp) { return rising(exp, std::exp); })
        .Case([&](LogOp log) { return rising(log, log_of); })
        .Case([&](SigmoidOp op_) { return rising(op_, sigmoid); })
        .Case([&](TanhOp tanh) { return rising(tanh, std::tanh); })
        .Case([&](SoftplusOp op_) { return rising(op_, softplus); })
        .Case([&](ReluOp op_) { return rising(op_, relu); })
        .Case([&](SqrtOp op_) { return rising(op_, sqrt_of); })
        .Case([&](ReciprocalOp op_) { return reciprocal(of[op_.getOperand()]); })
        .Case([&](AddOp add) {
          return Interval{of[add.getLhs()].lo + of[add.getRhs()].lo, of[add.getLhs()].hi + of[add.getRhs()].hi};
        })
        .Case([&](SubOp sub) {
          return Interval{of[sub.getLhs()].lo - of[sub.getRhs()].hi, of[sub.getLhs()].hi - of[sub.getRhs()].lo};
        })
        .Case([&](MulOp mul) {
          return mul.getLhs() == mul.getRhs() ? square(of[mul.getLhs()]) : times(of[mul.getLhs()], of[mul.getRhs()]);
        })
        .Case([&](ScaleOp scale) { return times(of[scale.getScalar()], of[scale.getValue()]); })
        .Default(everything);  // contractions and what is made of the state
  }

  llvm::DenseMap<mlir::Value, Interval> known_;
};

}  // namespace

bool Interval::bounded() const { return std::isfinite(lo) && std::isfinite(hi); }
double Interval::magnitude() const { return std::max(std::abs(lo), std::abs(hi)); }

Interval range_of(mlir::Value value) {
  Ranges ranges;
  mlir::Operation* last = value.getDefiningOp();
  for (mlir::Operation& op : *last->getBlock()) {
    ranges.visit(op);
    if (&op == last) break;
  }
  return ranges[value];
}

}  // namespace wkvc::rec
