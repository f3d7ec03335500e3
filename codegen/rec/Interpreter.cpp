#include "codegen/rec/Interpreter.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "llvm/ADT/TypeSwitch.h"
#include "runtime/error.h"

namespace wkvc::rec {
namespace {

using Array = std::vector<double>;

// ---- What the operations compute; matrices are V×K, row after row ---------------------------------------------------

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

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

// ---- One head -------------------------------------------------------------------------------------------------------

std::size_t elements_of(mlir::Value value) {
  return static_cast<std::size_t>(llvm::cast<mlir::RankedTensorType>(value.getType()).getNumElements());
}

// The body of the recurrence as a list of steps, and an array for every value.
class Machine {
 public:
  explicit Machine(RecurrenceOp recurrence) {
    for (mlir::Operation& op : recurrence.getBody().front())
      for (mlir::Value result : op.getResults()) values_[result.getAsOpaquePointer()].resize(elements_of(result));
    for (mlir::Operation& op : recurrence.getBody().front())
      if (Step step = step_of(op)) steps_.push_back(std::move(step));
  }

  Array& operator[](mlir::Value value) { return values_.at(value.getAsOpaquePointer()); }

  void run() {
    for (const Step& step : steps_) step();
  }

 private:
  using Step = std::function<void()>;

  template <class F>
  Step unary(mlir::Operation* op, F f) {
    const Array& x = (*this)[op->getOperand(0)];
    Array& result = (*this)[op->getResult(0)];
    return [&x, &result, f] {
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(x[i]);
    };
  }

  template <class F>
  Step binary(mlir::Operation* op, F f) {
    const Array &x = (*this)[op->getOperand(0)], &y = (*this)[op->getOperand(1)];
    Array& result = (*this)[op->getResult(0)];
    return [&x, &y, &result, f] {
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(x[i], y[i]);
    };
  }

  // Of two operands of different shapes.
  Step mixed(mlir::Operation* op, void (*f)(const Array&, const Array&, Array&)) {
    const Array &x = (*this)[op->getOperand(0)], &y = (*this)[op->getOperand(1)];
    Array& result = (*this)[op->getResult(0)];
    return [&x, &y, &result, f] { f(x, y, result); };
  }

  Step scale(ScaleOp op) {
    const Array &scalar = (*this)[op.getScalar()], &x = (*this)[op.getValue()];
    Array& result = (*this)[op.getResult()];
    return [&scalar, &x, &result] {
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = scalar[0] * x[i];
    };
  }

  Step broadcast(BroadcastOp op) {
    const Array& scalar = (*this)[op.getScalar()];
    Array& result = (*this)[op.getResult()];
    return [&scalar, &result] { std::fill(result.begin(), result.end(), scalar[0]); };
  }

  Step constant(ConstantOp op) {
    std::ranges::fill((*this)[op.getResult()], static_cast<double>(op.getValue().convertToFloat()));
    return {};
  }

  Step step_of(mlir::Operation& op) {
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
        .Case([&](DotOp y) { return mixed(y, dot); })
        .Case([&](OuterOp y) { return mixed(y, outer); })
        .Default([](mlir::Operation*) { return Step(); });  // inputs, state, update, outputs: moved by the caller
  }

  std::map<const void*, Array> values_;
  std::vector<Step> steps_;
};

// ---- All heads ------------------------------------------------------------------------------------------------------

// A tensor, and the value that holds one slice of it: one token of one head, or for parameters one head.
struct Given {
  const double* tensor;
  Array* slice;

  void load(std::size_t index) const { std::copy_n(tensor + index * slice->size(), slice->size(), slice->begin()); }
};

struct Returned {
  double* tensor;
  const Array* slice;

  void store(std::size_t index) const { std::ranges::copy(*slice, tensor + index * slice->size()); }
};

void expect_size(std::string_view what, std::size_t given, std::size_t expected) {
  if (given != expected) user_error("'{}' has {} elements; expected {}", what, given, expected);
}

class Interpreter {
 public:
  Interpreter(RecurrenceOp recurrence, Shape shape, const Tensors& inputs)
      : recurrence_(recurrence), shape_(shape), machine_(recurrence) {
    if (shape.batch < 1 || shape.tokens < 1 || shape.heads < 1)
      user_error("the shape B,T,H is {},{},{}; expected positive sizes", shape.batch, shape.tokens, shape.heads);
    const auto tokens = static_cast<std::size_t>(shape.batch * shape.tokens * shape.heads);
    for (auto op : recurrence.getBody().getOps<InputOp>()) inputs_.push_back(find(inputs, op.getName(), op, tokens));
    for (auto op : recurrence.getBody().getOps<ParameterOp>())
      parameters_.push_back(find(inputs, op.getName(), op, static_cast<std::size_t>(shape.heads)));
    for (auto op : recurrence.getBody().getOps<OutputOp>()) {
      Array& value = machine_[op.getValue()];
      Array& tensor = result_.outputs[op.getName().str()];
      tensor.resize(tokens * value.size());
      outputs_.push_back({tensor.data(), &value});
    }
  }

  Result run(const Array& initial_state) {
    Array& state = machine_[recurrence_.state().getResult()];
    const std::size_t heads = static_cast<std::size_t>(shape_.batch * shape_.heads);
    if (!initial_state.empty()) expect_size("initial_state", initial_state.size(), heads * state.size());
    result_.final_state = initial_state;
    result_.final_state.resize(heads * state.size());
    for (std::int64_t b = 0; b < shape_.batch; ++b)
      for (std::int64_t h = 0; h < shape_.heads; ++h) run_head(b, h, state);
    return std::move(result_);
  }

 private:
  // A tensor the user gives: `count` slices of the size of `value`.
  Given find(const Tensors& inputs, llvm::StringRef name, mlir::Value value, std::size_t count) {
    const auto tensor = inputs.find(name.str());
    if (tensor == inputs.end()) user_error("tensor '{}' is missing", name.str());
    Array& slice = machine_[value];
    expect_size(tensor->first, tensor->second.size(), count * slice.size());
    return {tensor->second.data(), &slice};
  }

  void run_head(std::int64_t b, std::int64_t h, Array& state) {
    double* head_state = result_.final_state.data() + static_cast<std::size_t>(b * shape_.heads + h) * state.size();
    std::copy_n(head_state, state.size(), state.begin());
    for (const Given& parameter : parameters_) parameter.load(static_cast<std::size_t>(h));
    for (std::int64_t t = 0; t < shape_.tokens; ++t)
      run_token(static_cast<std::size_t>((b * shape_.tokens + t) * shape_.heads + h), state);
    std::ranges::copy(state, head_state);
  }

  void run_token(std::size_t index, Array& state) {
    for (const Given& input : inputs_) input.load(index);
    machine_.run();
    for (const Returned& output : outputs_) output.store(index);
    state = machine_[recurrence_.update().getNext()];
  }

  RecurrenceOp recurrence_;
  Shape shape_;
  Machine machine_;
  std::vector<Given> inputs_, parameters_;
  std::vector<Returned> outputs_;
  Result result_;
};

}  // namespace

Result interpret(RecurrenceOp recurrence, Shape shape, const Tensors& inputs, const Array& initial_state) {
  return Interpreter(recurrence, shape, inputs).run(initial_state);
}

}  // namespace wkvc::rec
