// Gradients of the operations of one token. Internal to Gradient.
#pragma once

#include <vector>

#include "codegen/rec/Machine.h"

namespace wkvc::rec {

// The gradient of every value of a machine that has run. Those of results are set from outside; `run` adds to the
// gradient of each operand what the operations that read it say, last operation first.
class Adjoint {
 public:
  Adjoint(RecurrenceOp recurrence, Machine& values);

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
  Step outer(OuterOp op);
  Step step_of(mlir::Operation& op);

  Machine& values_;
  Arrays gradients_;
  std::vector<Step> steps_;
};

}  // namespace wkvc::rec
