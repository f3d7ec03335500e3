#include "tools/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "codegen/rec/Gradient.h"
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

// What storing a result costs by itself.
double rounding_of(DType dtype) { return dtype == DType::bf16 ? 1.8e-3 : dtype == DType::f16 ? 2.5e-4 : 0; }

// What the operands' rounding may cost a result, and what storing it costs.
double bound_for(const Manifest& manifest, const TensorSpec& spec) {
  struct Bound {
    std::string_view dtype;
    double of_result, of_gradient;
  };
  static constexpr std::array<Bound, 5> operands{{{"f16", 1.8e-3, 2e-3},
                                                  {"bf16", 3.2e-3, 4.5e-3},
                                                  {"tf32", 1.8e-3, 2e-3},
                                                  {"bf16x3", 5e-5, 1e-4},
                                                  {"f32", 1e-5, 2e-5}}};
  const std::string mma = setting(manifest, "mma");
  const auto* const bound = std::ranges::find(operands, mma, &Bound::dtype);
  if (bound == operands.end())
    user_error("the kernel's manifest names operands of '{}', for which no bound is known", mma);
  return std::max(is_gradient(spec.role) ? bound->of_gradient : bound->of_result, rounding_of(spec.dtype));
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

// Every result by the manifest's name.
class Reference {
 public:
  Reference(rec::RecurrenceOp recurrence, const Runnable& runnable, const Case& values)
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

  const std::vector<double>& of(const TensorSpec& spec) const {
    if (spec.role == Role::final_state) return results_.final_state;
    if (spec.role == Role::initial_state_gradient) return gradients_.initial_state;
    if (spec.role == Role::output) return find(results_.outputs, spec.name, "an output", spec.name);
    return find(gradients_.inputs, std::string(differentiated(spec)), "a gradient", spec.name);
  }

 private:
  const std::vector<double>& find(const rec::Tensors& tensors, const std::string& name, const char* what,
                                  const std::string& called) const {
    const auto found = tensors.find(name);
    if (found != tensors.end()) return found->second;
    user_error("the kernel has {} '{}' that the recurrence '{}' has not", what, called, op_);
  }

  std::string op_;
  rec::Result results_;
  rec::Gradients gradients_;
};

}  // namespace

std::vector<ResultError> compare(rec::RecurrenceOp recurrence, const Runnable& runnable, const Case& values) {
  const Reference reference(recurrence, runnable, values);
  std::vector<ResultError> errors;
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    if (!gives(runnable.passes, spec.role)) continue;
    errors.push_back({spec.name, relative_error(values.tensors.at(spec.name), reference.of(spec)),
                      bound_for(runnable.manifest, spec)});
  }
  return errors;
}

std::vector<ResultError> compare_with_file(const std::filesystem::path& path, const Runnable& runnable,
                                           const Case& values) {
  const SafetensorsFile file = read_safetensors(path);
  std::vector<ResultError> errors;
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    const auto found = file.tensors.find(spec.name);
    if (!gives(runnable.passes, spec.role) || found == file.tensors.end()) continue;
    expect_shape(file, spec, found->second, shape_of(spec, runnable.manifest, values.size));
    errors.push_back({spec.name + " (file)", relative_error(values.tensors.at(spec.name), widened(found->second)),
                      bound_for(runnable.manifest, spec) + rounding_of(found->second.dtype())});
  }
  return errors;
}

}  // namespace wkvc
