#include "codegen/rec/reference/Machine.h"

#include <algorithm>
#include <cmath>

#include "codegen/rec/Scalars.h"
#include "codegen/rec/reference/Rounding.h"
#include "llvm/ADT/TypeSwitch.h"

namespace wkvc::rec {
namespace {

std::size_t elements_of(mlir::Value value) {
  return static_cast<std::size_t>(llvm::cast<mlir::RankedTensorType>(value.getType()).getNumElements());
}

// Matrix · vector; a vector on the left is a matrix of one row.
void dot(const Array& matrix, const Array& vector, Array& result) {
  for (std::size_t i = 0; i < result.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < vector.size(); ++j) sum += matrix[i * vector.size() + j] * vector[j];
    result[i] = sum;
  }
}

void outer(const Array& column, const Array& row, Array& result) {
  for (std::size_t i = 0; i < column.size(); ++i)
    for (std::size_t j = 0; j < row.size(); ++j) result[i * row.size() + j] = column[i] * row[j];
}

void diag_mul(const Array& matrix, const Array& diagonal, Array& result) {
  for (std::size_t i = 0; i < matrix.size(); i += diagonal.size())
    for (std::size_t j = 0; j < diagonal.size(); ++j) result[i + j] = matrix[i + j] * diagonal[j];
}

}  // namespace

Arrays::Arrays(RecurrenceOp recurrence) {
  for (mlir::Operation& op : recurrence.getBody().front())
    for (mlir::Value result : op.getResults()) arrays_[result.getAsOpaquePointer()].resize(elements_of(result));
}

void Arrays::set_zero() {
  for (auto& [value, array] : arrays_) std::ranges::fill(array, 0.0);
}

Machine::Machine(RecurrenceOp recurrence, Rounding* rounding) : values_(recurrence), rounding_(rounding) {
  for (mlir::Operation& op : recurrence.getBody().front())
    if (Step step = step_of(op)) steps_.push_back(std::move(step));
}

template <class F>
Step Machine::unary(mlir::Operation* op, F f) {
  const Array& x = values_[op->getOperand(0)];
  Array& result = values_[op->getResult(0)];
  return [&x, &result, f] {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(x[i]);
  };
}

template <class F>
Step Machine::binary(mlir::Operation* op, F f) {
  const Array &x = values_[op->getOperand(0)], &y = values_[op->getOperand(1)];
  Array& result = values_[op->getResult(0)];
  return [&x, &y, &result, f] {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(x[i], y[i]);
  };
}

// Of two operands of different shapes.
Step Machine::mixed(mlir::Operation* op, void (*f)(const Array&, const Array&, Array&), Rounding* rounding) {
  const Array &x = values_[op->getOperand(0)], &y = values_[op->getOperand(1)];
  Array& result = values_[op->getResult(0)];
  return [left = Operand(x, rounding), right = Operand(y, rounding), &result, f]() mutable {
    f(left.get(), right.get(), result);
  };
}

Step Machine::scale(ScaleOp op) {
  const Array &scalar = values_[op.getScalar()], &x = values_[op.getValue()];
  Array& result = values_[op.getResult()];
  return [&scalar, &x, &result] {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = scalar[0] * x[i];
  };
}

Step Machine::broadcast(BroadcastOp op) {
  const Array& scalar = values_[op.getScalar()];
  Array& result = values_[op.getResult()];
  return [&scalar, &result] { std::ranges::fill(result, scalar[0]); };
}

Step Machine::constant(ConstantOp op) {
  std::ranges::fill(values_[op.getResult()], static_cast<double>(op.getValue().convertToFloat()));
  return {};
}

Step Machine::step_of(mlir::Operation& op) {
  return llvm::TypeSwitch<mlir::Operation*, Step>(&op)
      .Case<CastOp, AssumeOp>([&](auto same) { return unary(same, [](double x) { return x; }); })
      .Case([&](ConstantOp value) { return constant(value); })
      .Case([&](NegOp neg) { return unary(neg, [](double x) { return -x; }); })
      .Case([&](ExpOp exp) { return unary(exp, [](double x) { return std::exp(x); }); })
      .Case([&](LogOp log) { return unary(log, [](double x) { return std::log(x); }); })
      .Case([&](SigmoidOp y) { return unary(y, sigmoid); })
      .Case([&](TanhOp tanh) { return unary(tanh, [](double x) { return std::tanh(x); }); })
      .Case([&](SoftplusOp y) { return unary(y, softplus); })
      .Case([&](ReluOp relu) { return unary(relu, [](double x) { return std::max(x, 0.0); }); })
      .Case([&](SqrtOp sqrt) { return unary(sqrt, [](double x) { return std::sqrt(x); }); })
      .Case([&](ReciprocalOp y) { return unary(y, [](double x) { return 1 / x; }); })
      .Case([&](AddOp add) { return binary(add, std::plus<>()); })
      .Case([&](SubOp sub) { return binary(sub, std::minus<>()); })
      .Case([&](MulOp mul) { return binary(mul, std::multiplies<>()); })
      .Case([&](ScaleOp y) { return scale(y); })
      .Case([&](BroadcastOp y) { return broadcast(y); })
      .Case([&](DiagMulOp mul) { return mixed(mul, diag_mul); })
      .Case([&](DotOp y) { return mixed(y, dot, rounding_); })
      .Case([&](OuterOp y) { return mixed(y, outer, rounding_); })
      .Default([](mlir::Operation*) { return Step(); });  // inputs, state, update, outputs: moved by the caller
}

}  // namespace wkvc::rec
