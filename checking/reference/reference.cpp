#include "checking/reference/reference.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "checking/reference/recurrence_runs.h"
#include "checking/values/arrangement.h"
#include "codegen/rec/reference/Rounding.h"
#include "runtime/base/side_by_side.h"
#include "runtime/error.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {
namespace {

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

// Errors of one result, by draw.
using DrawnErrors = std::array<std::vector<double>, ErrorDraws::count>;

std::vector<double> difference(std::vector<double> x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return x;
}

Reference::HeadCost cost_of(const DrawnErrors& errors, std::size_t length) {
  Reference::HeadCost cost;
  for (std::size_t at = 0; at < errors.front().size(); at += length) {
    std::array<std::span<const double>, ErrorDraws::count> row;
    std::ranges::transform(errors, row.begin(), [&](const auto& draw) { return std::span(draw).subspan(at, length); });
    const ErrorDraws draws(row);
    cost.rows.push_back(draws.limit());
    cost.all += draws;
  }
  return cost;
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

Reference::CostsOfHead Reference::drawn(Precision precision, std::size_t head, std::size_t group) const {
  const Givens givens = of_heads(head * group, group);
  std::vector<const TensorSpec*> specs;
  for (const TensorSpec& spec : manifest_.tensors)
    if (gives(passes_, spec.role) && has_groups(spec) == (group > 1)) specs.push_back(&spec);
  std::vector<DrawnErrors> errors(specs.size());
  side_by_side(ErrorDraws::count, [&](std::size_t draw) {
    rec::Rounding forward(precision.forward, draw);
    rec::Rounding backward(precision.backward, draw, precision.rest);
    const Results results = results_of(givens, &forward, &backward);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const Rows rows(as_in_recurrence(*specs[i]), manifest_, size_);
      const std::vector<double> exact = rows.of_heads(exact_.of(*specs[i]), head * group, group);
      errors[i][draw] = summed_rows(difference(results.of(*specs[i]), exact), rows.length(), group);
    }
  });
  CostsOfHead costs;
  for (std::size_t i = 0; i < specs.size(); ++i)
    costs[specs[i]->name] = cost_of(errors[i], Rows(*specs[i], manifest_, size_).length());
  return costs;
}

const Reference::HeadCost& Reference::rounded(Precision precision, const TensorSpec& spec, std::size_t head) const {
  const auto group = has_groups(spec) ? static_cast<std::size_t>(size_.group()) : 1;
  const auto [found, missing] = draws_.try_emplace({precision, head, group});
  if (missing) found->second = drawn(precision, head, group);
  return found->second.at(spec.name);
}

}  // namespace wkvc
