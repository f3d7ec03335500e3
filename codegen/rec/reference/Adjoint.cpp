#include "codegen/rec/reference/Adjoint.h"

#include <cmath>
#include <utility>

#include "codegen/rec/Scalars.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace wkvc::rec {
namespace {

// Gradients of the operands x and y of one element, from the gradient of the result.
using Pair = std::pair<double, double>;

double tanh_derivative(double x, double) { return 1 / (std::cosh(x) * std::cosh(x)); }

// σ'(x) = σ(x)·σ(−x); 1 − σ(x) would cancel.
double sigmoid_derivative(double x, double) { return sigmoid(x) * sigmoid(-x); }

}  // namespace

Adjoint::Adjoint(RecurrenceOp recurrence, Machine& values, Rounding* rounding)
    : values_(values),
      rounding_(rounding),
      gradients_(recurrence),
      next_state_(values[recurrence.update().getNext()]),
      next_gradient_(gradients_[recurrence.update().getNext()]) {
  for (mlir::Operation& op : llvm::reverse(recurrence.getBody().front()))
    if (Step step = step_of(op)) steps_.push_back(std::move(step));
}

// What rounding leaves in the gradient of a decay, which kernels get by subtracting sums of the next state times its
// gradient, over the 16 tokens of a chunk. The sums' elements are those from `first` on, every `stride`-th.
double Adjoint::left_over(std::size_t first, std::size_t stride, double decay) {
  if (decay == 0) return 0;
  double squares = 0;
  for (std::size_t i = first; i < next_state_.size(); i += stride)
    squares += next_state_[i] * next_gradient_[i] * next_state_[i] * next_gradient_[i];
  return rounding_->rest() * std::sqrt(squares) / decay;
}

// `derivative` of the operand x and the result y.
template <class F>
Step Adjoint::unary(mlir::Operation* op, F derivative) {
  const Variable x = variable(op->getOperand(0)), y = variable(op->getResult(0));
  return [x, y, derivative] {
    for (std::size_t i = 0; i < y.value.size(); ++i)
      x.gradient[i] += product(y.gradient[i], derivative(x.value[i], y.value[i]));
  };
}

// `gradients` of both operands x and y, from them and the result's gradient. They may be the same value.
template <class F>
Step Adjoint::binary(mlir::Operation* op, F gradients) {
  const Variable x = variable(op->getOperand(0)), y = variable(op->getOperand(1));
  const Array& result = gradients_[op->getResult(0)];
  return [x, y, &result, gradients] {
    for (std::size_t i = 0; i < result.size(); ++i) {
      const Pair pair = gradients(x.value[i], y.value[i], result[i]);
      x.gradient[i] += pair.first;
      y.gradient[i] += pair.second;
    }
  };
}

Step Adjoint::scale(ScaleOp op) {
  const Variable scalar = variable(op.getScalar()), x = variable(op.getValue());
  const Array& result = gradients_[op.getResult()];
  Rounding* const rounding = is_matrix(op.getValue()) ? rounding_ : nullptr;
  return [this, scalar, x, &result, rounding, left = Operand(result, rounding),
          right = Operand(x.value, rounding)]() mutable {
    const Array &rounded_result = left.get(), &rounded_x = right.get();
    double sum = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      sum += product(rounded_result[i], rounded_x[i]);
      x.gradient[i] += product(result[i], scalar.value[0]);
    }
    scalar.gradient[0] += sum + (rounding ? left_over(0, 1, scalar.value[0]) : 0);
  };
}

Step Adjoint::broadcast(BroadcastOp op) {
  Array& scalar = gradients_[op.getScalar()];
  const Array& result = gradients_[op.getResult()];
  return [&scalar, &result] {
    for (const double gradient : result) scalar[0] += gradient;
  };
}

Step Adjoint::diag_mul(DiagMulOp op) {
  const Variable matrix = variable(op.getMatrix()), diagonal = variable(op.getDiagonal());
  const Array& result = gradients_[op.getResult()];
  return [this, matrix, diagonal, &result, left = operand(result), right = operand(matrix.value)]() mutable {
    const Array &rounded_result = left.get(), &rounded_matrix = right.get();
    const std::size_t columns = diagonal.value.size();
    Array sums(columns);
    for (std::size_t i = 0; i < result.size(); i += columns)
      for (std::size_t j = 0; j < columns; ++j) {
        matrix.gradient[i + j] += result[i + j] * diagonal.value[j];
        sums[j] += rounded_result[i + j] * rounded_matrix[i + j];
      }
    for (std::size_t j = 0; j < columns; ++j)
      diagonal.gradient[j] += sums[j] + (rounding_ ? left_over(j, columns, diagonal.value[j]) : 0);
  };
}

// Of two vectors, which an activation may read.
Step Adjoint::scalar_product(DotOp op) {
  const Variable left = variable(op.getLhs()), right = variable(op.getRhs());
  return [left, right, x = operand(left.value), y = operand(right.value),
          z = operand(gradients_[op.getResult()])]() mutable {
    const Array &a = x.get(), &b = y.get();
    const double result = z.get()[0];
    for (std::size_t i = 0; i < a.size(); ++i) {
      left.gradient[i] += product(result, b[i]);
      right.gradient[i] += product(result, a[i]);
    }
  };
}

Step Adjoint::dot(DotOp op) {
  if (!is_matrix(op.getLhs())) return scalar_product(op);
  const Variable matrix = variable(op.getLhs()), vector = variable(op.getRhs());
  return [matrix, vector, x = operand(matrix.value), y = operand(vector.value),
          z = operand(gradients_[op.getResult()])]() mutable {
    const Array &rows = x.get(), &factors = y.get(), &result = z.get();
    const std::size_t columns = factors.size();
    for (std::size_t i = 0; i < result.size(); ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        matrix.gradient[i * columns + j] += result[i] * factors[j];
        vector.gradient[j] += result[i] * rows[i * columns + j];
      }
  };
}

Step Adjoint::outer(OuterOp op) {
  const Variable column = variable(op.getColumn()), row = variable(op.getRow());
  return [column, row, x = operand(column.value), y = operand(row.value),
          z = operand(gradients_[op.getResult()])]() mutable {
    const Array &left = x.get(), &right = y.get(), &result = z.get();
    const std::size_t columns = right.size();
    for (std::size_t i = 0; i < left.size(); ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        column.gradient[i] += result[i * columns + j] * right[j];
        row.gradient[j] += result[i * columns + j] * left[i];
      }
  };
}

Step Adjoint::step_of(mlir::Operation& op) {
  return llvm::TypeSwitch<mlir::Operation*, Step>(&op)
      .Case<CastOp, AssumeOp>([&](auto same) { return unary(same, [](double, double) { return 1.0; }); })
      .Case([&](NegOp neg) { return unary(neg, [](double, double) { return -1.0; }); })
      .Case([&](ExpOp exp) { return unary(exp, [](double, double y) { return y; }); })
      .Case([&](LogOp log) { return unary(log, [](double x, double) { return 1 / x; }); })
      .Case([&](SigmoidOp y) { return unary(y, sigmoid_derivative); })
      .Case([&](TanhOp y) { return unary(y, tanh_derivative); })
      .Case([&](SoftplusOp y) { return unary(y, [](double x, double) { return sigmoid(x); }); })
      .Case([&](ReluOp relu) { return unary(relu, [](double x, double) { return x > 0 ? 1.0 : 0.0; }); })
      .Case([&](SqrtOp sqrt) { return unary(sqrt, [](double, double y) { return 0.5 / y; }); })
      .Case([&](ReciprocalOp x) { return unary(x, [](double, double y) { return -y * y; }); })
      .Case([&](AddOp add) { return binary(add, [](double, double, double g) { return Pair{g, g}; }); })
      .Case([&](SubOp sub) { return binary(sub, [](double, double, double g) { return Pair{g, -g}; }); })
      .Case([&](MulOp mul) {
        return binary(mul, [](double x, double y, double g) { return Pair{product(g, y), product(g, x)}; });
      })
      .Case([&](ScaleOp y) { return scale(y); })
      .Case([&](BroadcastOp y) { return broadcast(y); })
      .Case([&](DiagMulOp y) { return diag_mul(y); })
      .Case([&](DotOp y) { return dot(y); })
      .Case([&](OuterOp y) { return outer(y); })
      .Default([](mlir::Operation*) { return Step(); });  // constants, and what the caller moves
}

}  // namespace wkvc::rec
