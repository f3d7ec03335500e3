#include "codegen/rec/reference/Interpreter.h"

#include "codegen/rec/reference/Replay.h"

namespace wkvc::rec {
namespace {

class Interpreter {
 public:
  Interpreter(RecurrenceOp recurrence, Shape shape, const Tensors& inputs, Rounding* rounding,
              std::int64_t states_every)
      : shape_(shape), states_every_(states_every), replay_(recurrence, shape, inputs, rounding) {
    for (auto op : recurrence.getBody().getOps<OutputOp>()) {
      Array& value = replay_.machine()[op.getValue()];
      Array& tensor = result_.outputs[op.getName().str()];
      tensor.resize(replay_.token_count() * value.size());
      outputs_.push_back({tensor.data(), &value});
    }
  }

  Result run(const Array& initial_state) {
    Array& state = replay_.state();
    if (!initial_state.empty()) given_slices("initial_state", initial_state, replay_.state_count(), state);
    result_.final_state = initial_state;
    result_.final_state.resize(replay_.state_count() * state.size());
    const Returned states{result_.final_state.data(), &state};
    result_.intermediate_states.resize(replay_.state_count() * state.size() * intermediate_count());
    intermediate_ = {result_.intermediate_states.data(), &state};
    for (std::int64_t b = 0; b < shape_.batch; ++b)
      for (std::int64_t h = 0; h < shape_.heads; ++h) run_head(b, h, states);
    return std::move(result_);
  }

 private:
  void run_head(std::int64_t b, std::int64_t h, const Returned& states) {
    replay_.begin_head(h);
    states.load(replay_.state_index(b, h));
    for (std::int64_t t = 0; t < shape_.tokens; ++t) {
      run_token(replay_.token_index(b, t, h));
      if (states_every_ > 0 && (t + 1) % states_every_ == 0) store_intermediate(b, (t + 1) / states_every_ - 1, h);
    }
    states.store(replay_.state_index(b, h));
  }

  std::size_t intermediate_count() const {
    return states_every_ > 0 ? static_cast<std::size_t>(shape_.tokens / states_every_) : 0;
  }

  void store_intermediate(std::int64_t b, std::int64_t number, std::int64_t h) const {
    const std::size_t row = static_cast<std::size_t>(b) * intermediate_count() + static_cast<std::size_t>(number);
    intermediate_.store(row * static_cast<std::size_t>(shape_.heads) + static_cast<std::size_t>(h));
  }

  void run_token(std::size_t index) {
    replay_.run_token(index);
    for (const Returned& output : outputs_) output.store(index);
    replay_.state() = replay_.next_state();
  }

  Shape shape_;
  std::int64_t states_every_;
  Replay replay_;
  std::vector<Returned> outputs_;
  Returned intermediate_{};
  Result result_;
};

}  // namespace

Result interpret(RecurrenceOp recurrence, Shape shape, const Tensors& inputs, const Array& initial_state,
                 Rounding* rounding, std::int64_t states_every) {
  return Interpreter(recurrence, shape, inputs, rounding, states_every).run(initial_state);
}

}  // namespace wkvc::rec
