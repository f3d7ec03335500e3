#include "codegen/rec/reference/Gradient.h"

#include <algorithm>
#include <cmath>

#include "codegen/rec/reference/Adjoint.h"
#include "codegen/rec/reference/Replay.h"
#include "runtime/error.h"

namespace wkvc::rec {
namespace {

// One head after another: forwards, keeping the states that groups of tokens begin with, then backwards group by group,
// where each is run again for the states of its tokens, and each token for its values. Groups are as long as there are
// groups, so memory grows with the root of the tokens.
class Differentiation {
 public:
  Differentiation(RecurrenceOp recurrence, Shape shape, const Tensors& inputs, const Tensors& output_gradients,
                  Rounding* rounding)
      : shape_(shape),
        replay_(recurrence, shape, inputs, rounding),
        adjoint_(recurrence, replay_.machine(), rounding),
        state_gradient_(adjoint_[recurrence.state().getResult()]),
        next_gradient_(adjoint_[recurrence.update().getNext()]),
        group_(std::max<std::int64_t>(std::llround(std::ceil(std::sqrt(static_cast<double>(shape.tokens)))), 1)),
        groups_((shape.tokens + group_ - 1) / group_),
        group_states_(static_cast<std::size_t>(groups_) * replay_.state().size()),
        states_(static_cast<std::size_t>(group_) * replay_.state().size()) {
    for (auto op : recurrence.getBody().getOps<OutputOp>()) add_output(op, output_gradients);
    for (auto op : recurrence.getBody().getOps<InputOp>())
      inputs_.push_back(result_for(op.getName(), op, replay_.token_count()));
    for (auto op : recurrence.getBody().getOps<ParameterOp>())
      parameters_.push_back(result_for(op.getName(), op, replay_.head_count()));
  }

  Gradients run(const Array& initial_state, const Array& final_gradient) {
    const std::size_t count = replay_.state_count();
    if (!initial_state.empty()) given_slices("initial_state", initial_state, count, replay_.state());
    if (!final_gradient.empty()) given_slices("the gradient of final_state", final_gradient, count, replay_.state());
    // A head's gradient is where it began before that head has run, and where it ended afterwards.
    result_.initial_state = final_gradient;
    result_.initial_state.resize(count * replay_.state().size());
    for (std::int64_t b = 0; b < shape_.batch; ++b)
      for (std::int64_t h = 0; h < shape_.heads; ++h) run_head(b, h, initial_state);
    return std::move(result_);
  }

 private:
  void add_output(OutputOp op, const Tensors& output_gradients) {
    const std::string name = op.getName().str();
    const auto given = output_gradients.find(name);
    if (given == output_gradients.end()) user_error("the gradient of output '{}' is missing", name);
    Array& gradient = adjoint_[op.getValue()];
    outputs_.push_back(given_slices("the gradient of output " + name, given->second, replay_.token_count(), gradient));
  }

  Returned result_for(llvm::StringRef name, mlir::Value value, std::size_t count) {
    Array& gradient = adjoint_[value];
    Array& tensor = result_.inputs[name.str()];
    tensor.resize(count * gradient.size());
    return {tensor.data(), &gradient};
  }

  void run_head(std::int64_t b, std::int64_t h, const Array& initial_state) {
    replay_.begin_head(h);
    std::ranges::fill(replay_.state(), 0.0);
    if (!initial_state.empty()) Given{initial_state.data(), &replay_.state()}.load(replay_.state_index(b, h));
    forwards(b, h);
    Array carried(replay_.state().size());  // the gradient of the state after the token
    const Returned ends{result_.initial_state.data(), &carried};
    ends.load(replay_.state_index(b, h));
    for (std::int64_t group = groups_; group-- > 0;) run_group(b, h, group, carried);
    ends.store(replay_.state_index(b, h));
  }

  void forwards(std::int64_t b, std::int64_t h) {
    const Returned saved{group_states_.data(), &replay_.state()};
    for (std::int64_t t = 0; t < shape_.tokens; ++t) {
      if (t % group_ == 0) saved.store(static_cast<std::size_t>(t / group_));
      advance(b, t, h);
    }
  }

  void advance(std::int64_t b, std::int64_t t, std::int64_t h) {
    replay_.run_token(replay_.token_index(b, t, h));
    replay_.state() = replay_.next_state();
  }

  void run_group(std::int64_t b, std::int64_t h, std::int64_t group, Array& carried) {
    const Returned saved{states_.data(), &replay_.state()};
    const std::int64_t first = group * group_, end = std::min(first + group_, shape_.tokens);
    Returned{group_states_.data(), &replay_.state()}.load(static_cast<std::size_t>(group));
    for (std::int64_t t = first; t < end; ++t) {
      saved.store(static_cast<std::size_t>(t - first));
      advance(b, t, h);
    }
    for (std::int64_t t = end; t-- > first;) {
      saved.load(static_cast<std::size_t>(t - first));
      run_token(replay_.token_index(b, t, h), static_cast<std::size_t>(h), carried);
    }
  }

  void run_token(std::size_t index, std::size_t head, Array& carried) {
    replay_.run_token(index);
    adjoint_.set_zero();
    for (const Given& output : outputs_) output.load_added(index);  // several may have the same value
    for (std::size_t i = 0; i < carried.size(); ++i) next_gradient_[i] += carried[i];
    adjoint_.run();
    for (const Returned& input : inputs_) input.store(index);
    for (const Returned& parameter : parameters_) parameter.store_added(head);
    carried = state_gradient_;
  }

  Shape shape_;
  Replay replay_;
  Adjoint adjoint_;
  Array &state_gradient_, &next_gradient_;
  std::int64_t group_, groups_;  // tokens in a group, and groups
  Array group_states_, states_;  // of one head: before each group, and before each token of one group
  std::vector<Given> outputs_;
  std::vector<Returned> inputs_, parameters_;
  Gradients result_;
};

}  // namespace

Gradients differentiate(RecurrenceOp recurrence, Shape shape, const Tensors& inputs, const Array& initial_state,
                        const Tensors& output_gradients, const Array& final_state_gradient, Rounding* rounding) {
  return Differentiation(recurrence, shape, inputs, output_gradients, rounding)
      .run(initial_state, final_state_gradient);
}

Tensors with_ones_for_others(RecurrenceOp recurrence, Shape shape, Tensors given) {
  for (auto op : recurrence.getBody().getOps<OutputOp>()) {
    const auto type = mlir::cast<mlir::RankedTensorType>(op.getValue().getType());
    const std::int64_t elements = shape.batch * shape.tokens * shape.heads * type.getNumElements();
    given.try_emplace(op.getName().str(), static_cast<std::size_t>(elements), 1.0);
  }
  return given;
}

}  // namespace wkvc::rec
