#include "checking/reference/recurrence_runs.h"

#include <algorithm>
#include <utility>

namespace wkvc {
namespace {

using Values = std::vector<double>;

// Rows [first, last) of `all`.
Values rows(const Values& whole, std::int64_t all, std::int64_t first, std::int64_t last) {
  const std::int64_t length = all == 0 ? 0 : static_cast<std::int64_t>(whole.size()) / all;
  return {whole.begin() + first * length, whole.begin() + last * length};
}

// Puts `part` behind what is there, from element `from` on; zeros between them.
void place(Values& to, std::int64_t from, const Values& part) {
  to.resize(static_cast<std::size_t>(from));
  to.insert(to.end(), part.begin(), part.end());
}

rec::Tensors rows(const rec::Tensors& whole, std::int64_t all, std::int64_t first, std::int64_t last) {
  rec::Tensors part;
  for (const auto& [name, values] : whole) part[name] = rows(values, all, first, last);
  return part;
}

void append(Values& to, const Values& part) { to.insert(to.end(), part.begin(), part.end()); }

void append(rec::Tensors& to, const rec::Tensors& parts) {
  for (const auto& [name, part] : parts) append(to[name], part);
}

void add(Values& to, const Values& part) {
  to.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) to[i] += part[i];
}

// Which sequences there are: their tokens, and the places of their states.
struct Cut {
  std::int64_t tokens, sequences;
  const Sequences& of;

  Cut(const Givens& givens, const Sequences& given) : of(given) {
    const bool packed = !given.starts.empty();
    tokens = packed ? givens.shape.tokens : givens.shape.batch * givens.shape.tokens;
    sequences = packed ? static_cast<std::int64_t>(given.starts.size()) - 1 : givens.shape.batch;
  }
  std::int64_t first(std::int64_t n) const { return of.starts.empty() ? n * (tokens / sequences) : of.starts[n]; }
  std::int64_t state(std::int64_t n) const { return of.slots.empty() ? n : of.slots[n]; }
};

// Elements of the state of one sequence.
std::int64_t state_size(rec::RecurrenceOp recurrence, const Givens& givens) {
  return givens.shape.heads * static_cast<std::int64_t>(recurrence.getKeyDim() * recurrence.getValueDim());
}

Values state_of(const Values& states, std::int64_t size, std::int64_t place) {
  if (states.empty()) return {};
  return {states.begin() + place * size, states.begin() + (place + 1) * size};
}

}  // namespace

rec::Result RecurrenceRuns::of(const Givens& givens) {
  rec::Tensors inputs = givens.inputs;
  inputs.insert(givens.parameters.begin(), givens.parameters.end());
  if (passes_ != Passes::forward) {
    const rec::Tensors incoming = rec::with_ones_for_others(recurrence_, givens.shape, givens.output_gradients);
    gradients_ = rec::differentiate(recurrence_, givens.shape, inputs, givens.initial_state, incoming,
                                    givens.final_gradient, backward_);
  }
  if (passes_ == Passes::backward) return {};
  return rec::interpret(recurrence_, givens.shape, inputs, givens.initial_state, forward_, states_every_);
}

rec::Result RecurrenceRuns::of_sequences(const Givens& givens, const Sequences& sequences) {
  const Cut cut(givens, sequences);
  if (cut.sequences == 0) {
    return of({{0, 0, givens.shape.heads}, givens.inputs, givens.parameters, givens.output_gradients, {}, {}});
  }
  const std::int64_t size = state_size(recurrence_, givens);
  rec::Result whole;
  rec::Gradients gradients;
  if (!sequences.slots.empty()) whole.final_state = givens.initial_state;  // slots of no sequence stay as they were
  for (std::int64_t n = 0; n < cut.sequences; ++n) {
    const std::int64_t first = cut.first(n), last = cut.first(n + 1);
    const rec::Result part = of({{1, last - first, givens.shape.heads},
                                 rows(givens.inputs, cut.tokens, first, last),
                                 givens.parameters,
                                 rows(givens.output_gradients, cut.tokens, first, last),
                                 state_of(givens.initial_state, size, cut.state(n)),
                                 state_of(givens.final_gradient, size, n)});
    append(whole.outputs, part.outputs);
    if (states_every_ > 0) {
      const std::int64_t before =
          sequences.starts.empty() ? n * ((last - first) / states_every_) : first / states_every_;
      place(whole.intermediate_states, before * size, part.intermediate_states);
    }
    append(gradients.initial_state, gradients_.initial_state);
    for (const auto& [name, values] : gradients_.inputs) {
      givens.parameters.contains(name) ? add(gradients.inputs[name], values) : append(gradients.inputs[name], values);
    }
    if (sequences.slots.empty()) {
      append(whole.final_state, part.final_state);
    } else if (passes_ != Passes::backward) {
      std::ranges::copy(part.final_state, whole.final_state.begin() + cut.state(n) * size);
    }
  }
  if (states_every_ > 0 && !sequences.starts.empty())
    place(whole.intermediate_states, cut.tokens / states_every_ * size, {});
  gradients_ = std::move(gradients);
  return whole;
}

}  // namespace wkvc
