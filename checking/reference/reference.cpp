#include "checking/reference/reference.h"

#include <algorithm>
#include <utility>

#include "checking/reference/recurrence_runs.h"
#include "checking/values/arrangement.h"
#include "codegen/rec/reference/Rounding.h"
#include "runtime/error.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {
namespace {

constexpr int draw_count = 8;

const std::vector<double>& found_in(const rec::Tensors& tensors, const std::string& name, const char* what,
                                    const std::string& called, const std::string& op) {
  const auto found = tensors.find(name);
  if (found != tensors.end()) return found->second;
  user_error("the kernel has {} '{}' that the recurrence '{}' has not", what, called, op);
}

std::vector<double> widened(const HostTensor& tensor) {
  std::vector<double> values(tensor.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.get(i);
  return values;
}

// Where the recurrence takes a tensor that the kernels are given.
std::vector<double>& place_of(const TensorSpec& spec, Givens& givens) {
  switch (spec.role) {
    case Role::initial_state:
      return givens.initial_state;
    case Role::final_state_gradient:
      return givens.final_gradient;
    case Role::output_gradient:
      return givens.output_gradients[std::string(differentiated(spec))];
    case Role::parameter:
      return givens.parameters[spec.name];
    default:
      return givens.inputs[spec.name];
  }
}

Givens givens_of(const Manifest& manifest, const Case& values) {
  Givens givens{{values.size.batches, values.size.tokens, values.size.heads}, {}, {}, {}, {}, {}};
  for (const TensorSpec& spec : manifest.tensors) {
    const auto found = values.tensors.find(spec.name);
    if (found == values.tensors.end() || is_result(spec.role)) continue;
    place_of(spec, givens) = to_recurrence(spec, manifest, values.size, widened(found->second));
  }
  return givens;
}

// The squared error of each row as `dtype` stores it, added to its draws.
void add_draw(const Rows& rows, DType dtype, const std::vector<double>& rounded, const std::vector<double>& exact,
              std::vector<std::vector<double>>& draws) {
  HostTensor stored(dtype, {1});
  draws.resize(exact.size() / std::max<std::size_t>(rows.length(), 1));
  for (std::size_t row = 0; row < draws.size(); ++row) {
    double sum = 0;
    for (std::size_t i = row * rows.length(); i < (row + 1) * rows.length(); ++i) {
      stored.set(0, rounded[i]);
      const double distance = stored.get(0) - exact[i];
      sum += distance * distance;
    }
    draws[row].push_back(sum);
  }
}

}  // namespace

const std::vector<double>& Results::of(const TensorSpec& spec) const {
  if (spec.role == Role::final_state) return forward_.final_state;
  if (spec.role == Role::intermediate_states) return forward_.intermediate_states;
  if (spec.role == Role::initial_state_gradient) return gradients_.initial_state;
  if (spec.role == Role::output) return found_in(forward_.outputs, spec.name, "an output", spec.name, op_);
  return found_in(gradients_.inputs, std::string(differentiated(spec)), "a gradient", spec.name, op_);
}

Reference::Reference(rec::RecurrenceOp recurrence, const Runnable& runnable, const Case& values)
    : recurrence_(recurrence),
      op_(recurrence.getSymName().str()),
      passes_(runnable.passes),
      manifest_(runnable.manifest),
      size_(values.size),
      sequences_(values.sequences),
      givens_(givens_of(runnable.manifest, values)),
      exact_(results_of(givens_, nullptr, nullptr)) {}

const std::vector<double>& Reference::of(const TensorSpec& spec) const {
  const auto [found, missing] = arranged_.try_emplace(spec.name);
  if (missing) found->second = from_recurrence(spec, manifest_, size_, exact_.of(spec));
  return found->second;
}

Results Reference::results_of(const Givens& givens, rec::Rounding* forward, rec::Rounding* backward) const {
  RecurrenceRuns runs(recurrence_, passes_, manifest_.states_every, forward, backward);
  if (sequences_) return {op_, runs.of_sequences(givens, *sequences_), runs.gradients()};
  return {op_, runs.of(givens), runs.gradients()};
}

Givens Reference::of_heads(std::size_t first, std::size_t count) const {
  Givens whole = givens_,
         part{{givens_.shape.batch, givens_.shape.tokens, static_cast<std::int64_t>(count)}, {}, {}, {}, {}, {}};
  for (const TensorSpec& spec : manifest_.tensors) {
    if (is_result(spec.role) || is_internal(spec.role)) continue;
    const std::vector<double>& values = place_of(spec, whole);
    if (values.empty()) continue;
    place_of(spec, part) = Rows(as_in_recurrence(spec), manifest_, size_).of_heads(values, first, count);
  }
  return part;
}

bool Reference::has_groups(const TensorSpec& spec) const { return size_.group() > 1 && is_shared(spec); }

Reference::Draws Reference::drawn(Precision precision, std::size_t head, std::size_t group) const {
  const Givens givens = of_heads(head * group, group);
  Draws draws;
  for (int draw = 0; draw < draw_count; ++draw) {
    const auto seed = static_cast<std::uint64_t>(draw);
    rec::Rounding forward(precision.forward, seed, precision.operands);
    rec::Rounding backward(precision.backward, seed, precision.operands);
    const Results results = results_of(givens, &forward, &backward);
    for (const TensorSpec& spec : manifest_.tensors) {
      if (!gives(passes_, spec.role) || has_groups(spec) != (group > 1)) continue;
      const Rows rows(as_in_recurrence(spec), manifest_, size_);
      const auto of_head = [&](const std::vector<double>& values) { return summed_rows(values, rows.length(), group); };
      add_draw(rows, spec.dtype, of_head(results.of(spec)),
               of_head(rows.of_heads(exact_.of(spec), head * group, group)), draws[spec.name]);
    }
  }
  return draws;
}

const std::vector<std::vector<double>>& Reference::rounded(Precision precision, const TensorSpec& spec,
                                                           std::size_t head) const {
  const auto group = has_groups(spec) ? static_cast<std::size_t>(size_.group()) : 1;
  const auto [found, missing] = draws_.try_emplace({precision, head, group});
  if (missing) found->second = drawn(precision, head, group);
  return found->second.at(spec.name);
}

}  // namespace wkvc
