// Gradients of the operations of one token. Internal to Gradient.
#pragma once

#include <vector>

#include "codegen/rec/reference/Machine.h"
#include "codegen/rec/reference/Rounding.h"

namespace wkvc::rec {

// The gradient of every value of a machine that has run. Those of results are set from outside; `run` adds to the
// gradient of each operand what the operations that read it say, last operation first. `rounding` rounds the operands
// of contractions at random, and those of the sums that gradients of a matrix's factors are; null: everything is exact.
class Adjoint {
 public:
  Adjoint(RecurrenceOp recurrence, Machine& values, Rounding* rounding = nullptr);

  Array& operator[](mlir::Value value) { return gradients_[value]; }
  void set_zero() { gradients_.set_zero(); }

  void run() const {
    for (const Step& step : steps_) step();
  }

 private:
  // An operand or the result of an operation: what it is and its gradient.
  struct Variable {
    const Array& value;
    Array& gradient;
  };
  Variable variable(mlir::Value value) { return {values_[value], gradients_[value]}; }

  template <class F>
  Step unary(mlir::Operation* op, F derivative);
  template <class F>
  Step binary(mlir::Operation* op, F gradients);
  Step scale(ScaleOp op);
  Step broadcast(BroadcastOp op);
  Step diag_mul(DiagMulOp op);
  Step dot(DotOp op);
  Step scalar_product(DotOp op);
  Step outer(OuterOp op);
  Step step_of(mlir::Operation& op);

  double left_over(std::size_t first, std::size_t stride, double decay);
  Operand operand(const Array& array) const { return {array, rounding_}; }

  Machine& values_;
  Rounding* rounding_;
  Arrays gradients_;
  const Array &next_state_, &next_gradient_;
  std::vector<Step> steps_;
};

}  // namespace wkvc::rec
