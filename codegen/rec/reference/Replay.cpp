#include "codegen/rec/reference/Replay.h"

#include "runtime/error.h"

namespace wkvc::rec {

Given given_slices(const std::string& what, const Array& tensor, std::size_t count, Array& slice) {
  const std::size_t expected = count * slice.size();
  if (tensor.size() != expected) user_error("'{}' has {} elements; expected {}", what, tensor.size(), expected);
  return {tensor.data(), &slice};
}

Given given_slices(const Tensors& tensors, const std::string& name, std::size_t count, Array& slice) {
  const auto tensor = tensors.find(name);
  if (tensor == tensors.end()) user_error("tensor '{}' is missing", name);
  return given_slices(name, tensor->second, count, slice);
}

Replay::Replay(RecurrenceOp recurrence, Shape shape, const Tensors& inputs, Rounding* rounding)
    : shape_(shape),
      machine_(recurrence, rounding),
      state_(&machine_[recurrence.state().getResult()]),
      next_state_(&machine_[recurrence.update().getNext()]) {
  if (shape.batch < 0 || shape.tokens < 0 || shape.heads < 0)
    user_error("the shape B,T,H is {},{},{}; no size may be negative", shape.batch, shape.tokens, shape.heads);
  for (auto op : recurrence.getBody().getOps<InputOp>())
    inputs_.push_back(given_slices(inputs, op.getName().str(), token_count(), machine_[op]));
  for (auto op : recurrence.getBody().getOps<ParameterOp>())
    parameters_.push_back(given_slices(inputs, op.getName().str(), head_count(), machine_[op]));
}

void Replay::begin_head(std::int64_t head) const {
  for (const Given& parameter : parameters_) parameter.load(static_cast<std::size_t>(head));
}

void Replay::run_token(std::size_t token_index) {
  for (const Given& input : inputs_) input.load(token_index);
  machine_.run();
}

}  // namespace wkvc::rec
