#include "codegen/rec/Interpreter.h"

#include "codegen/rec/Replay.h"

namespace wkvc::rec {
namespace {

class Interpreter {
 public:
  Interpreter(RecurrenceOp recurrence, Shape shape, const Tensors& inputs, Rounding* rounding)
      : shape_(shape), replay_(recurrence, shape, inputs, rounding) {
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
    for (std::int64_t b = 0; b < shape_.batch; ++b)
      for (std::int64_t h = 0; h < shape_.heads; ++h) run_head(b, h, states);
    return std::move(result_);
  }

 private:
  void run_head(std::int64_t b, std::int64_t h, const Returned& states) {
    replay_.begin_head(h);
    states.load(replay_.state_index(b, h));
    for (std::int64_t t = 0; t < shape_.tokens; ++t) run_token(replay_.token_index(b, t, h));
    states.store(replay_.state_index(b, h));
  }

  void run_token(std::size_t index) {
    replay_.run_token(index);
    for (const Returned& output : outputs_) output.store(index);
    replay_.state() = replay_.next_state();
  }

  Shape shape_;
  Replay replay_;
  std::vector<Returned> outputs_;
  Result result_;
};

}  // namespace

Result interpret(RecurrenceOp recurrence, Shape shape, const Tensors& inputs, const Array& initial_state,
                 Rounding* rounding) {
  return Interpreter(recurrence, shape, inputs, rounding).run(initial_state);
}

}  // namespace wkvc::rec
