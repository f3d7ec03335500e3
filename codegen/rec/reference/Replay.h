// A recurrence with the tensors it runs over, one token of one head at a time. Internal to the interpreter and its
// gradients.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/rec/reference/Interpreter.h"
#include "codegen/rec/reference/Machine.h"

namespace wkvc::rec {

// A tensor, and the array that holds one slice of it: one token of one head, one head, or one state.
template <class Element>
struct Slices {
  Element* tensor;
  Array* slice;

  Element* at(std::size_t index) const { return tensor + index * slice->size(); }
  void load(std::size_t index) const { std::copy_n(at(index), slice->size(), slice->begin()); }
  void store(std::size_t index) const { std::copy_n(slice->begin(), slice->size(), at(index)); }
  void load_added(std::size_t index) const {
    for (std::size_t i = 0; i < slice->size(); ++i) (*slice)[i] += at(index)[i];
  }
  void store_added(std::size_t index) const {
    for (std::size_t i = 0; i < slice->size(); ++i) at(index)[i] += (*slice)[i];
  }
};

using Given = Slices<const double>;
using Returned = Slices<double>;

// Throws UserError unless `tensor` has `count` slices of the size of `slice`; `what` names it in the message.
Given given_slices(const std::string& what, const Array& tensor, std::size_t count, Array& slice);

// The same for one of `tensors`, which may lack it (UserError).
Given given_slices(const Tensors& tensors, const std::string& name, std::size_t count, Array& slice);

class Replay {
 public:
  // Throws UserError for a shape that is none and for tensors that are missing or of another size.
  Replay(RecurrenceOp recurrence, Shape shape, const Tensors& inputs, Rounding* rounding);

  Machine& machine() { return machine_; }
  Array& state() { return *state_; }
  const Array& next_state() const { return *next_state_; }

  std::size_t token_count() const { return static_cast<std::size_t>(shape_.batch * shape_.tokens * shape_.heads); }
  std::size_t state_count() const { return static_cast<std::size_t>(shape_.batch * shape_.heads); }
  std::size_t head_count() const { return static_cast<std::size_t>(shape_.heads); }

  // Where slices lie: of token tensors, and of states.
  std::size_t token_index(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return static_cast<std::size_t>((b * shape_.tokens + t) * shape_.heads + h);
  }
  std::size_t state_index(std::int64_t b, std::int64_t h) const {
    return static_cast<std::size_t>(b * shape_.heads + h);
  }

  void begin_head(std::int64_t head) const;  // loads the parameters
  void run_token(std::size_t token_index);   // computes every value from the state and this token's inputs

 private:
  Shape shape_;
  Machine machine_;
  Array *state_, *next_state_;
  std::vector<Given> inputs_, parameters_;
};

}  // namespace wkvc::rec
