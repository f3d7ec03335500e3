#include "tools/comparison.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <sstream>

#include "runtime/error.h"

namespace wkvc {
namespace {

std::vector<double> widened(const HostTensor& tensor) {
  std::vector<double> values(tensor.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.get(i);
  return values;
}

double relative_error(const HostTensor& given, const std::vector<double>& reference) {
  if (given.size() != reference.size()) internal_error("{} elements against {}", given.size(), reference.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double distance = given.get(i) - reference[i];
    difference += distance * distance;
    norm += reference[i] * reference[i];
  }
  if (norm == 0) return difference == 0 ? 0 : std::numeric_limits<double>::infinity();
  return std::sqrt(difference / norm);
}

// The word behind `key` in the configuration: "head 64x64 chunk 16 io bf16 mma f16 state f32".
std::string setting(const Manifest& manifest, std::string_view key) {
  std::istringstream words(manifest.config);
  for (std::string word; words >> word;) {
    if (word == key && words >> word) return word;
  }
  user_error("the configuration in the kernel's manifest, \"{}\", does not say \"{}\"", manifest.config, key);
}

// Whether so few elements have the norm of a tensor that all of these may be rounded badly: there are fewer than 1024,
// or they weigh, by (Σx²)²/Σx⁴, as much as fewer than 128 that are equal. (Of normal ones that is a third of them.)
bool is_of_few(const std::vector<double>& reference) {
  double squares = 0, fourth_powers = 0;
  for (double x : reference) {
    squares += x * x;
    fourth_powers += x * x * x * x;
  }
  return reference.size() < 1024 || squares * squares < 128 * fourth_powers;
}

// What storing a result costs by itself: over many elements the mean of their roundings; over few what it may cost one
// of them, half a unit in the last place: 2^-8 in bf16, 2^-11 in f16.
double rounding_of(DType dtype, bool few) {
  switch (dtype) {
    case DType::bf16:
      return few ? 0x1p-8 : 1.8e-3;
    case DType::f16:
      return few ? 0x1p-11 : 2.5e-4;
    case DType::f32:
      return 0;
  }
  internal_error("{} is no DType", static_cast<int>(dtype));
}

// What the states cost gradients when they are saved in 16 bits.
double saving_of(const Manifest& manifest) {
  const auto saved = std::ranges::find(manifest.tensors, Role::saved_states, &TensorSpec::role);
  if (saved == manifest.tensors.end()) return 0;
  return saved->dtype == DType::bf16 ? 2.5e-3 : saved->dtype == DType::f16 ? 3.2e-4 : 0;
}

// What the operands' rounding may cost a result, and what storing it or the states it is made from costs.
double bound_for(const Manifest& manifest, const TensorSpec& spec, bool few) {
  struct Bound {
    std::string_view dtype;
    double of_result, of_gradient;
  };
  static constexpr std::array<Bound, 3> operands{
      {{"f16", 1.8e-3, 2e-3}, {"bf16", 3.2e-3, 4.5e-3}, {"f32", 1e-5, 2e-5}}};
  const std::string mma = setting(manifest, "mma");
  const auto* const bound = std::ranges::find(operands, mma, &Bound::dtype);
  if (bound == operands.end())
    user_error("the kernel's manifest names operands of '{}', for which no bound is known", mma);
  const double rounding = rounding_of(spec.dtype, few);
  if (!is_gradient(spec.role)) return std::max(bound->of_result, rounding);
  return std::max({bound->of_gradient, rounding, saving_of(manifest)});
}

// ---- The reference --------------------------------------------------------------------------------------------------

// What a case gives, in float64.
struct Givens {
  rec::Shape shape;
  rec::Tensors inputs, output_gradients;
  std::vector<double> initial_state, final_gradient;
};

Givens givens_of(const Manifest& manifest, const Case& values) {
  Givens givens{{values.size.batches, values.size.tokens, values.size.heads}, {}, {}, {}, {}};
  for (const TensorSpec& spec : manifest.tensors) {
    const auto found = values.tensors.find(spec.name);
    if (found == values.tensors.end() || is_result(spec.role)) continue;
    std::vector<double> tensor = widened(found->second);
    if (spec.role == Role::initial_state)
      givens.initial_state = std::move(tensor);
    else if (spec.role == Role::final_state_gradient)
      givens.final_gradient = std::move(tensor);
    else if (spec.role == Role::output_gradient)
      givens.output_gradients[std::string(differentiated(spec))] = std::move(tensor);
    else
      givens.inputs[spec.name] = std::move(tensor);
  }
  return givens;
}

const std::vector<double>& found_in(const rec::Tensors& tensors, const std::string& name, const char* what,
                                    const std::string& called, const std::string& op) {
  const auto found = tensors.find(name);
  if (found != tensors.end()) return found->second;
  user_error("the kernel has {} '{}' that the recurrence '{}' has not", what, called, op);
}

// ---- What there should be -------------------------------------------------------------------------------------------

std::vector<std::string> outputs_of(rec::RecurrenceOp recurrence) {
  std::vector<std::string> names;
  for (auto op : recurrence.getBody().getOps<rec::OutputOp>()) names.push_back(op.getName().str());
  names.emplace_back("final_state");
  return names;
}

std::vector<std::string> givens_of(rec::RecurrenceOp recurrence) {
  std::vector<std::string> names;
  for (auto op : recurrence.getBody().getOps<rec::InputOp>()) names.push_back(op.getName().str());
  for (auto op : recurrence.getBody().getOps<rec::ParameterOp>()) names.push_back(op.getName().str());
  return names;
}

std::vector<std::string> gradients_of(rec::RecurrenceOp recurrence, const std::vector<std::string>& wanted) {
  const std::vector<std::string> all = givens_of(recurrence);
  for (const std::string& name : wanted) {
    if (std::ranges::find(all, name) != all.end()) continue;
    user_error("--grad: '{}' has no input '{}'; it has {}", recurrence.getSymName().str(), name, fmt::join(all, ", "));
  }
  std::vector<std::string> names;
  for (const std::string& name : wanted.empty() ? all : wanted) names.push_back("d" + name);
  names.emplace_back("dinitial_state");
  return names;
}

}  // namespace

std::vector<std::string> missing_results(rec::RecurrenceOp recurrence, const Runnable& runnable,
                                         const std::vector<std::string>& gradients) {
  std::vector<std::string> names;
  if (runnable.passes != Passes::backward) names = outputs_of(recurrence);
  if (runnable.passes != Passes::forward)
    std::ranges::move(gradients_of(recurrence, gradients), std::back_inserter(names));
  std::erase_if(names, [&](const std::string& name) {
    const auto& specs = runnable.manifest.tensors;
    const auto spec = std::ranges::find(specs, name, &TensorSpec::name);
    return spec != specs.end() && gives(runnable.passes, spec->role);
  });
  return names;
}

Reference::Reference(rec::RecurrenceOp recurrence, const Runnable& runnable, const Case& values)
    : op_(recurrence.getSymName().str()) {
  const Givens givens = givens_of(runnable.manifest, values);
  if (runnable.passes != Passes::backward) {
    results_ = rec::interpret(recurrence, givens.shape, givens.inputs, givens.initial_state);
  }
  if (runnable.passes != Passes::forward) {
    gradients_ = rec::differentiate(recurrence, givens.shape, givens.inputs, givens.initial_state,
                                    givens.output_gradients, givens.final_gradient);
  }
}

const std::vector<double>& Reference::of(const TensorSpec& spec) const {
  if (spec.role == Role::final_state) return results_.final_state;
  if (spec.role == Role::initial_state_gradient) return gradients_.initial_state;
  if (spec.role == Role::output) return found_in(results_.outputs, spec.name, "an output", spec.name, op_);
  return found_in(gradients_.inputs, std::string(differentiated(spec)), "a gradient", spec.name, op_);
}

std::vector<ResultError> compare(rec::RecurrenceOp recurrence, const Runnable& runnable, const Case& values) {
  return compare(Reference(recurrence, runnable, values), runnable, values);
}

std::vector<ResultError> compare(const Reference& reference, const Runnable& runnable, const Case& values) {
  std::vector<ResultError> errors;
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    if (!gives(runnable.passes, spec.role)) continue;
    const HostTensor& given = values.tensors.at(spec.name);
    const std::vector<double>& expected = reference.of(spec);
    errors.push_back(
        {spec.name, relative_error(given, expected), bound_for(runnable.manifest, spec, is_of_few(expected))});
  }
  return errors;
}

std::vector<ResultError> compare_with_file(const std::filesystem::path& path, const Runnable& runnable,
                                           const Case& values) {
  Names results;
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    if (gives(runnable.passes, spec.role)) results.insert(spec.name);
  }
  const SafetensorsFile file = read_safetensors(path, results);
  std::vector<ResultError> errors;
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    const auto found = file.tensors.find(spec.name);
    if (!gives(runnable.passes, spec.role) || found == file.tensors.end()) continue;
    expect_shape(file, spec, found->second, shape_of(spec, runnable.manifest, values.size));
    const std::vector<double> expected = widened(found->second);
    const bool few = is_of_few(expected);
    errors.push_back({spec.name + " (file)", relative_error(values.tensors.at(spec.name), expected),
                      bound_for(runnable.manifest, spec, few) + rounding_of(found->second.dtype(), few)});
  }
  return errors;
}

}  // namespace wkvc
