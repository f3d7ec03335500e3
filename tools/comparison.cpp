#include "tools/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "codegen/rec/Interpreter.h"
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

// What the operands' rounding may cost a result, and what storing it costs by itself.
double bound_for(const Manifest& manifest, DType stored) {
  struct Bound {
    std::string_view dtype;
    double error;
  };
  static constexpr std::array<Bound, 5> operands{
      {{"f16", 1.8e-3}, {"bf16", 3.2e-3}, {"tf32", 1.8e-3}, {"bf16x3", 5e-5}, {"f32", 1e-5}}};
  const std::string mma = setting(manifest, "mma");
  const auto* const bound = std::ranges::find(operands, mma, &Bound::dtype);
  if (bound == operands.end())
    user_error("the kernel's manifest names operands of '{}', for which no bound is known", mma);
  const double storage = stored == DType::bf16 ? 1.8e-3 : stored == DType::f16 ? 2.5e-4 : 0;
  return std::max(bound->error, storage);
}

rec::Result reference_for(rec::RecurrenceOp recurrence, const Manifest& manifest, const Case& values) {
  rec::Tensors inputs;
  std::vector<double> initial_state;
  for (const TensorSpec& spec : manifest.tensors) {
    const auto found = values.tensors.find(spec.name);
    if (found == values.tensors.end()) continue;
    if (spec.role == Role::initial_state) initial_state = widened(found->second);
    if (spec.role == Role::input || spec.role == Role::parameter) inputs[spec.name] = widened(found->second);
  }
  const rec::Shape shape{values.size.batches, values.size.tokens, values.size.heads};
  return rec::interpret(recurrence, shape, inputs, initial_state);
}

}  // namespace

std::vector<ResultError> compare(rec::RecurrenceOp recurrence, const Manifest& manifest, const Case& values) {
  const rec::Result reference = reference_for(recurrence, manifest, values);
  std::vector<ResultError> errors;
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_result(spec.role)) continue;
    const auto output = reference.outputs.find(spec.name);
    if (spec.role == Role::output && output == reference.outputs.end()) {
      user_error("the kernel has an output '{}' that the recurrence '{}' has not", spec.name,
                 recurrence.getSymName().str());
    }
    const auto& expected = spec.role == Role::output ? output->second : reference.final_state;
    errors.push_back(
        {spec.name, relative_error(values.tensors.at(spec.name), expected), bound_for(manifest, spec.dtype)});
  }
  return errors;
}

}  // namespace wkvc
