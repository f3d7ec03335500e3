// What the operations of one token compute, in float64. Internal to the interpreter and its gradients.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "codegen/rec/Rec.h"

namespace wkvc::rec {

class Rounding;

// One value: a vector, or a matrix V×K, row after row.
using Array = std::vector<double>;

// An array of its size for every value of the recurrence, zeros at first; they stay where they are.
class Arrays {
 public:
  explicit Arrays(RecurrenceOp recurrence);

  Array& operator[](mlir::Value value) { return arrays_.at(value.getAsOpaquePointer()); }
  void set_zero();

 private:
  std::map<const void*, Array> arrays_;
};

using Step = std::function<void()>;

// The values of one token of one head. Inputs, parameters and the state are set from outside; `run` computes the rest.
// `rounding` rounds the operands of contractions (dot, outer) at random; null: everything is exact.
class Machine {
 public:
  explicit Machine(RecurrenceOp recurrence, Rounding* rounding = nullptr);

  Array& operator[](mlir::Value value) { return values_[value]; }

  void run() {
    for (const Step& step : steps_) step();
  }

 private:
  template <class F>
  Step unary(mlir::Operation* op, F f);
  template <class F>
  Step binary(mlir::Operation* op, F f);
  Step mixed(mlir::Operation* op, void (*f)(const Array&, const Array&, Array&), Rounding* rounding = nullptr);
  Step scale(ScaleOp op);
  Step broadcast(BroadcastOp op);
  Step constant(ConstantOp op);
  Step step_of(mlir::Operation& op);

  Arrays values_;
  Rounding* rounding_;
  std::vector<Step> steps_;
};

}  // namespace wkvc::rec
