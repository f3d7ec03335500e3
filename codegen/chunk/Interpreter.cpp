#include "codegen/chunk/Interpreter.h"

#include <llvm/ADT/TypeSwitch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "codegen/rec/Scalars.h"
#include "runtime/error.h"

namespace wkvc::chunk {
namespace {

using rec::sigmoid, rec::softplus;
using Array = std::vector<double>;

// ---- Matrices -------------------------------------------------------------------------------------------------------

struct Matrix {
  std::size_t rows = 0, columns = 0;
  Array data;  // row after row

  double& operator()(std::size_t i, std::size_t j) { return data[i * columns + j]; }
  double operator()(std::size_t i, std::size_t j) const { return data[i * columns + j]; }
  // The element that broadcasting puts at (i, j).
  double spread(std::size_t i, std::size_t j) const { return (*this)(rows == 1 ? 0 : i, columns == 1 ? 0 : j); }
};

// Sets every element to f(i, j).
template <class F>
void fill(Matrix& result, F f) {
  for (std::size_t i = 0; i < result.rows; ++i)
    for (std::size_t j = 0; j < result.columns; ++j) result(i, j) = f(i, j);
}

template <class F>
double sum(std::size_t count, F f) {
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) total += f(i);
  return total;
}

// Rows in the order of the sum, the last first if it is `reverse`.
void cumsum(const Matrix& x, bool reverse, bool exclusive, Matrix& result) {
  for (std::size_t j = 0; j < x.columns; ++j) {
    double total = 0;
    for (std::size_t n = 0; n < x.rows; ++n) {
      const std::size_t i = reverse ? x.rows - 1 - n : n;
      const double before = total;
      total += x(i, j);
      result(i, j) = exclusive ? before : total;
    }
  }
}

void sum_rows(const Matrix& x, Matrix& result) {
  fill(result, [&](std::size_t, std::size_t j) { return sum(x.rows, [&](std::size_t i) { return x(i, j); }); });
}

void sum_columns(const Matrix& x, Matrix& result) {
  fill(result, [&](std::size_t i, std::size_t) { return sum(x.columns, [&](std::size_t j) { return x(i, j); }); });
}

void diagonal(const Matrix& x, Matrix& result) {
  fill(result, [&](std::size_t i, std::size_t) { return x(i, i); });
}

// Σ over dimension x_dim of x and y_dim of y.
void dot(const Matrix& x, bool x_dim, const Matrix& y, bool y_dim, Matrix& result) {
  auto at = [](const Matrix& m, bool dim, std::size_t free, std::size_t c) { return dim ? m(free, c) : m(c, free); };
  fill(result, [&](std::size_t i, std::size_t j) {
    return sum(x_dim ? x.columns : x.rows, [&](std::size_t c) { return at(x, x_dim, i, c) * at(y, y_dim, j, c); });
  });
}

double row_dot(const Matrix& x, const Matrix& y, std::size_t i) {
  return sum(x.columns, [&](std::size_t c) { return x.spread(i, c) * y.spread(i, c); });
}

bool is_upper(std::size_t token, std::size_t half) { return token / half % 2 == 1; }

// The first row of the half that makes a block with the token's, and the row behind that half; the same row twice if
// there is none.
std::pair<std::size_t, std::size_t> other_half(std::size_t token, std::size_t half, std::size_t rows) {
  const std::size_t first = (token / half ^ 1) * half;
  return {std::min(first, rows), std::min(first + half, rows)};
}

void last_of_other_half(const Matrix& x, std::size_t half, Matrix& result) {
  fill(result, [&](std::size_t i, std::size_t j) {
    const auto [first, end] = other_half(i, half, x.rows);
    return first < end ? x(end - 1, j) : 0.0;
  });
}

void sum_of_other_half(const Matrix& x, std::size_t half, Matrix& result) {
  fill(result, [&](std::size_t i, std::size_t j) {
    const bool is_last = i + 1 == std::min((i / half + 1) * half, x.rows);
    const auto [first, end] = other_half(i, half, x.rows);
    return is_last ? sum(end - first, [&, first = first](std::size_t n) { return x(first + n, j); }) : 0.0;
  });
}

// (I − x)·result = I by forward substitution; only the strictly lower triangle of x is read.
void unit_lower_inverse(const Matrix& x, Matrix& result) {
  fill(result, [&](std::size_t i, std::size_t j) {
    return (i == j ? 1.0 : 0.0) + sum(i, [&](std::size_t c) { return x(i, c) * result(c, j); });
  });
}

// ---- One chunk of one head ------------------------------------------------------------------------------------------

// The body of the program as a list of steps, and a matrix for every value.
class Machine {
 public:
  explicit Machine(ProgramOp program) {
    for (mlir::Operation& op : program.getBody().front()) {
      for (mlir::Value result : op.getResults()) allocate(result);
      if (Step step = step_of(op)) steps_.push_back(std::move(step));
    }
  }

  Matrix& operator[](mlir::Value value) { return values_.at(value.getAsOpaquePointer()); }

  void run(std::size_t valid) {
    valid_ = valid;
    for (const Step& step : steps_) step();
  }

 private:
  using Step = std::function<void()>;

  void allocate(mlir::Value value) {
    const auto r = static_cast<std::size_t>(rows(value)), c = static_cast<std::size_t>(columns(value));
    values_[value.getAsOpaquePointer()] = {r, c, Array(r * c)};
  }

  template <class F>
  Step unary(mlir::Operation* op, F f) {
    const Matrix& x = (*this)[op->getOperand(0)];
    Matrix& result = (*this)[op->getResult(0)];
    return [&x, &result, f] { std::ranges::transform(x.data, result.data.begin(), f); };
  }

  template <class F>
  Step binary(mlir::Operation* op, F f) {
    const Matrix &x = (*this)[op->getOperand(0)], &y = (*this)[op->getOperand(1)];
    Matrix& result = (*this)[op->getResult(0)];
    return [&x, &y, &result, f] {
      fill(result, [&](std::size_t i, std::size_t j) { return f(x.spread(i, j), y.spread(i, j)); });
    };
  }

  // A selection of x's elements: those where keep(i, j), else 0.
  template <class F>
  Step select(mlir::Operation* op, F keep) {
    const Matrix& x = (*this)[op->getOperand(0)];
    Matrix& result = (*this)[op->getResult(0)];
    return
        [&x, &result, keep] { fill(result, [&](std::size_t i, std::size_t j) { return keep(i, j) ? x(i, j) : 0.0; }); };
  }

  template <class F>
  Step whole(mlir::Operation* op, F f) {
    const Matrix& x = (*this)[op->getOperand(0)];
    Matrix& result = (*this)[op->getResult(0)];
    return [&x, &result, f] { f(x, result); };
  }

  Step constant(ConstantOp op) {
    std::ranges::fill((*this)[op.getResult()].data, op.getValue().convertToDouble());
    return {};
  }

  Step row(RowOp op) {
    const Matrix& x = (*this)[op.getX()];
    Matrix& result = (*this)[op.getResult()];
    const auto index = static_cast<std::size_t>(op.getIndex());
    return [&x, &result, index] { fill(result, [&](std::size_t, std::size_t j) { return x(index, j); }); };
  }

  Step contraction(DotOp op) {
    const Matrix &x = (*this)[op.getX()], &y = (*this)[op.getY()];
    Matrix& result = (*this)[op.getResult()];
    const bool x_dim = op.getXDim(), y_dim = op.getYDim();
    return [&x, &y, &result, x_dim, y_dim] { dot(x, x_dim, y, y_dim, result); };
  }

  Step dots_of_columns(ColumnDotsOp op) {
    const Matrix &x = (*this)[op.getX()], &y = (*this)[op.getY()];
    Matrix& result = (*this)[op.getResult()];
    return [&x, &y, &result] {
      fill(result, [&](std::size_t, std::size_t j) {
        double sum = 0;
        for (std::size_t i = 0; i < x.rows; ++i) sum += x(i, j) * y(i, j);
        return sum;
      });
    };
  }

  Step diagonal_of_dots(DiagonalDotOp op) {
    const Matrix &x = (*this)[op.getX()], &y = (*this)[op.getY()];
    Matrix& result = (*this)[op.getResult()];
    return [&x, &y, &result] {
      fill(result, [&](std::size_t i, std::size_t j) { return i == j ? row_dot(x, y, i) : 0.0; });
    };
  }

  template <class Op>
  Step across_halves(Op op, void (*f)(const Matrix&, std::size_t, Matrix&)) {
    const Matrix& x = (*this)[op.getX()];
    Matrix& result = (*this)[op.getResult()];
    const std::size_t half = op.getHalf();
    return [&x, &result, half, f] { f(x, half, result); };
  }

  Step select_halves(SelectHalvesOp op) {
    const Matrix &x = (*this)[op.getX()], &y = (*this)[op.getY()];
    Matrix& result = (*this)[op.getResult()];
    const std::size_t half = op.getHalf();
    return [&x, &y, &result, half] {
      fill(result, [&](std::size_t i, std::size_t j) { return is_upper(i, half) ? x(i, j) : y(i, j); });
    };
  }

  Step at_row(AtRowOp op) {
    const Matrix& x = (*this)[op.getX()];
    Matrix& result = (*this)[op.getResult()];
    const auto index = static_cast<std::size_t>(op.getIndex());
    return [&x, &result, index] {
      fill(result, [&](std::size_t i, std::size_t j) { return i == index ? x(0, j) : 0.0; });
    };
  }

  // Returns the step of an operation on single elements; null for another one.
  Step elementwise_step(mlir::Operation& op) {
    return llvm::TypeSwitch<mlir::Operation*, Step>(&op)
        .Case<WidenOp, RoundOp, OffsetOp>([&](auto same) { return unary(same, [](double x) { return x; }); })
        .Case([&](ConstantOp value) { return constant(value); })
        .Case([&](NegOp neg) { return unary(neg, [](double x) { return -x; }); })
        .Case([&](ExpOp exp) { return unary(exp, [](double x) { return std::exp(x); }); })
        .Case([&](Exp2Op y) { return unary(y, [](double x) { return std::exp2(x); }); })
        .Case([&](LogOp log) { return unary(log, [](double x) { return std::log(x); }); })
        .Case([&](SigmoidOp y) { return unary(y, sigmoid); })
        .Case([&](TanhOp tanh) { return unary(tanh, [](double x) { return std::tanh(x); }); })
        .Case([&](SoftplusOp y) { return unary(y, softplus); })
        .Case([&](ReluOp relu) { return unary(relu, [](double x) { return std::max(x, 0.0); }); })
        .Case([&](SqrtOp sqrt) { return unary(sqrt, [](double x) { return std::sqrt(x); }); })
        .Case([&](ReciprocalOp y) { return unary(y, [](double x) { return 1 / x; }); })
        .Case([&](AtLeastOp y) {
          const double bound = y.getBound().convertToFloat();
          return unary(y, [bound](double x) { return std::max(x, bound); });
        })
        .Case([&](ExceedsOp y) {
          const double bound = y.getBound().convertToFloat();
          return unary(y, [bound](double x) { return x > bound ? 1.0 : 0.0; });
        })
        .Case([&](NotBelowOp y) {
          const double bound = y.getBound().convertToFloat();
          return unary(y, [bound](double x) { return x >= bound ? x : std::numeric_limits<double>::quiet_NaN(); });
        })
        .Case([&](AddOp add) { return binary(add, std::plus<>()); })
        .Case([&](SubOp sub) { return binary(sub, std::minus<>()); })
        .Case([&](MulOp mul) { return binary(mul, std::multiplies<>()); })
        .Default([](mlir::Operation*) { return Step(); });
  }

  // Returns the step of an operation that selects elements by their place; null for another one.
  Step selecting_step(mlir::Operation& op) {
    return llvm::TypeSwitch<mlir::Operation*, Step>(&op)
        .Case([&](KeepValidOp y) { return select(y, [this](std::size_t i, std::size_t) { return i < valid_; }); })
        .Case([&](TrilOp y) {
          const bool strict = y.getStrict();
          return select(y, [strict](std::size_t i, std::size_t j) { return strict ? j < i : j <= i; });
        })
        .Case([&](LevelPairsOp y) {
          const std::size_t half = y.getHalf();
          return select(y, [half](std::size_t i, std::size_t j) {
            return i / (2 * half) == j / (2 * half) && is_upper(i, half) && !is_upper(j, half);
          });
        })
        .Case<UpperRowsOp, LowerRowsOp>([&](auto y) {
          const std::size_t half = y.getHalf();
          const bool upper = std::is_same_v<decltype(y), UpperRowsOp>;
          return select(y, [half, upper](std::size_t i, std::size_t) { return is_upper(i, half) == upper; });
        })
        .Case([&](SelectHalvesOp y) { return select_halves(y); })
        .Default([](mlir::Operation*) { return Step(); });
  }

  // Null for inputs, states, updates and outputs: the caller moves those.
  Step step_of(mlir::Operation& op) {
    if (Step step = elementwise_step(op)) return step;
    if (Step step = selecting_step(op)) return step;
    return llvm::TypeSwitch<mlir::Operation*, Step>(&op)
        .Case([&](CumsumOp y) {
          const bool reverse = y.getReverse(), exclusive = y.getExclusive();
          return whole(y, [=](const Matrix& x, Matrix& sums) { cumsum(x, reverse, exclusive, sums); });
        })
        .Case([&](SumRowsOp y) { return whole(y, sum_rows); })
        .Case([&](SumColumnsOp y) { return whole(y, sum_columns); })
        .Case([&](DiagonalOp y) { return whole(y, diagonal); })
        .Case([&](AtRowOp y) { return at_row(y); })
        .Case([&](UnitLowerInverseOp y) { return whole(y, unit_lower_inverse); })
        .Case([&](RowOp y) { return row(y); })
        .Case([&](DotOp y) { return contraction(y); })
        .Case([&](ColumnDotsOp y) { return dots_of_columns(y); })
        .Case([&](DiagonalDotOp y) { return diagonal_of_dots(y); })
        .Case([&](LastOfOtherHalfOp y) { return across_halves(y, last_of_other_half); })
        .Case([&](SumOfOtherHalfOp y) { return across_halves(y, sum_of_other_half); })
        .Default([](mlir::Operation*) { return Step(); });
  }

  std::size_t valid_ = 0;  // rows before the sequence's end
  std::map<const void*, Matrix> values_;
  std::vector<Step> steps_;
};

// ---- All heads ------------------------------------------------------------------------------------------------------

struct Given {
  const double* tensor;
  Matrix* value;
};

struct Returned {
  double* tensor;
  const Matrix* value;
};

void expect_size(std::string_view what, std::size_t given, std::size_t expected) {
  if (given != expected) user_error("'{}' has {} elements; expected {}", what, given, expected);
}

class Interpreter {
 public:
  Interpreter(ProgramOp program, rec::Shape shape, const rec::Tensors& inputs, Array* saved)
      : chunk_(static_cast<std::size_t>(program.getChunk())),
        backward_(program.getBackward()),
        machine_(program),
        saved_(saved) {
    if (shape.batch < 1 || shape.tokens < 1 || shape.heads < 1)
      user_error("the shape B,T,H is {},{},{}; expected positive sizes", shape.batch, shape.tokens, shape.heads);
    batch_ = static_cast<std::size_t>(shape.batch);
    tokens_ = static_cast<std::size_t>(shape.tokens);
    heads_ = static_cast<std::size_t>(shape.heads);
    chunks_ = (tokens_ + chunk_ - 1) / chunk_;
    for (mlir::Operation& op : program.getBody().front()) bind(op, inputs);
    bind_saved();
  }

  rec::Result run(const Array& initial_state) {
    const std::size_t size = batch_ * heads_ * state_->data.size();
    if (!initial_state.empty()) expect_size("initial_state", initial_state.size(), size);
    result_.final_state = initial_state;
    result_.final_state.resize(size);
    for (std::size_t b = 0; b < batch_; ++b)
      for (std::size_t h = 0; h < heads_; ++h) run_head(b, h);
    return std::move(result_);
  }

 private:
  void bind(mlir::Operation& op, const rec::Tensors& inputs) {
    llvm::TypeSwitch<mlir::Operation*>(&op)
        .Case([&](InputOp input) {
          const std::size_t rows = input.getOfHead() ? heads_ : batch_ * tokens_ * heads_;
          (input.getOfHead() ? numbers_ : inputs_).push_back(find(inputs, input.getSym(), input, rows));
        })
        .Case(
            [&](ParameterOp parameter) { parameters_.push_back(find(inputs, parameter.getSym(), parameter, heads_)); })
        .Case([&](StateOp state) {
          state_ = &machine_[state];
          power_ = std::exp2(static_cast<double>(exponent_of(state)));
        })
        .Case([&](SavedStateOp state) {
          saved_state_ = &machine_[state];
          saved_power_ = std::exp2(static_cast<double>(exponent_of(state)));
        })
        .Case([&](UpdateOp update) { next_ = &machine_[update.getX()]; })
        .Case([&](OutputOp output) {
          const Matrix& value = machine_[output.getX()];
          Array& tensor = result_.outputs[output.getSym().str()];
          tensor.resize((output.getOfHead() ? 1 : batch_ * tokens_) * heads_ * value.columns);
          (output.getOfHead() ? token_sums_ : outputs_).push_back({tensor.data(), &value});
        })
        .Case([&](AccumulateOp sum) {
          const Matrix& value = machine_[sum.getX()];
          Array& tensor = result_.outputs[sum.getSym().str()];
          tensor.resize(heads_ * value.columns);
          sums_.push_back({tensor.data(), &value});
        });
  }

  void bind_saved() {
    const std::size_t size = batch_ * heads_ * chunks_ * state_->data.size();
    if (saved_ && !backward_) saved_->assign(size, 0);
    if (!saved_state_) return;
    if (!saved_) user_error("the saved states of the forward pass are missing");
    expect_size("saved_states", saved_->size(), size);
  }

  // A tensor the user gives: `count` rows of the length of the value's.
  Given find(const rec::Tensors& inputs, llvm::StringRef name, mlir::Value value, std::size_t count) {
    const auto tensor = inputs.find(name.str());
    if (tensor == inputs.end()) user_error("tensor '{}' is missing", name.str());
    Matrix& matrix = machine_[value];
    expect_size(tensor->first, tensor->second.size(), count * matrix.columns);
    return {tensor->second.data(), &matrix};
  }

  static void copy_times(const double* from, double power, std::size_t size, double* to) {
    std::transform(from, from + size, to, [=](double x) { return x * power; });
  }

  void run_head(std::size_t b, std::size_t h) {
    double* head_state = result_.final_state.data() + (b * heads_ + h) * state_->data.size();
    copy_times(head_state, power_, state_->data.size(), state_->data.data());
    for (const auto& [tensor, value] : parameters_)
      std::copy_n(tensor + h * value->columns, value->columns, value->data.begin());
    for (std::size_t n = 0; n < chunks_; ++n) run_chunk(b, backward_ ? chunks_ - 1 - n : n, h);
    copy_times(state_->data.data(), 1 / power_, state_->data.size(), head_state);
  }

  void run_chunk(std::size_t b, std::size_t chunk, std::size_t h) {
    const std::size_t first = chunk * chunk_;
    const std::size_t size = state_->data.size(), place = ((b * heads_ + h) * chunks_ + chunk) * size;
    if (saved_ && !backward_) copy_times(state_->data.data(), 1 / power_, size, saved_->data() + place);
    if (saved_state_) copy_times(saved_->data() + place, saved_power_, size, saved_state_->data.data());
    const std::size_t valid = std::min(chunk_, tokens_ - first);
    auto row = [&](std::size_t i) { return (b * tokens_ + first + i) * heads_ + h; };
    for (const auto& [tensor, value] : inputs_)
      fill(*value, [&](std::size_t i, std::size_t j) { return i < valid ? tensor[row(i) * value->columns + j] : 0.0; });
    for (const auto& [tensor, value] : numbers_)
      fill(*value, [&](std::size_t i, std::size_t) { return i < valid ? tensor[h] : 0.0; });
    machine_.run(valid);
    for (const auto& [tensor, value] : outputs_)
      for (std::size_t i = 0; i < valid; ++i)
        std::copy_n(&value->data[i * value->columns], value->columns, tensor + row(i) * value->columns);
    for (const auto& [tensor, value] : token_sums_)
      for (std::size_t i = 0; i < valid; ++i) tensor[h] += value->data[i];
    for (const auto& [tensor, value] : sums_)
      for (std::size_t j = 0; j < value->columns; ++j) tensor[h * value->columns + j] += value->data[j];
    if (next_ != state_) state_->data = next_->data;
  }

  std::size_t chunk_, batch_ = 0, tokens_ = 0, heads_ = 0, chunks_ = 0;
  bool backward_;
  Machine machine_;
  Array* saved_;
  std::vector<Given> inputs_, parameters_, numbers_;  // numbers of a head, for all of its tokens
  std::vector<Returned> outputs_, sums_, token_sums_;
  Matrix* state_ = nullptr;
  Matrix* saved_state_ = nullptr;
  double power_ = 1, saved_power_ = 1;  // times which states are values of the program
  const Matrix* next_ = nullptr;
  rec::Result result_;
};

}  // namespace

rec::Result interpret(ProgramOp program, rec::Shape shape, const rec::Tensors& inputs, const Array& initial_state,
                      Array* saved) {
  return Interpreter(program, shape, inputs, saved).run(initial_state);
}

}  // namespace wkvc::chunk
