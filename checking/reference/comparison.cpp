#include "checking/reference/comparison.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "checking/reference/bounds.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

std::vector<double> widened(const HostTensor& tensor) {
  std::vector<double> values(tensor.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.get(i);
  return values;
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

// The gradient of the initial state is always among them.
std::vector<std::string> gradients_of(rec::RecurrenceOp recurrence, std::vector<std::string> wanted) {
  std::vector<std::string> all = givens_of(recurrence);
  if (wanted.empty()) wanted = all;
  all.emplace_back("initial_state");
  if (std::ranges::find(wanted, all.back()) == wanted.end()) wanted.push_back(all.back());
  std::vector<std::string> names;
  for (const std::string& name : wanted) {
    if (std::ranges::find(all, name) == all.end())
      user_error("--grad: '{}' has no input '{}'; it has {}", recurrence.getSymName().str(), name,
                 fmt::join(all, ", "));
    names.push_back("d" + name);
  }
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

std::vector<std::string> unwanted_results(rec::RecurrenceOp recurrence, const Runnable& runnable,
                                          const std::vector<std::string>& gradients) {
  const std::vector<std::string> wanted = gradients_of(recurrence, gradients);
  std::vector<std::string> names;
  for (const TensorSpec& spec : runnable.manifest.tensors)
    if (is_gradient(spec.role) && std::ranges::find(wanted, spec.name) == wanted.end()) names.push_back(spec.name);
  return names;
}

std::vector<ResultError> compare(const Reference& reference, const Runnable& runnable, const Case& values) {
  std::vector<ResultError> errors;
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    if (!gives(runnable.passes, spec.role)) continue;
    errors.push_back(result_error(spec.name, values.tensors.at(spec.name), reference.of(spec),
                                  bound_for(runnable.manifest, spec), reference, runnable, spec));
  }
  return errors;
}

std::vector<ResultError> compare_with_file(const SafetensorsFile& file, const Reference& reference,
                                           const Runnable& runnable, const Case& values) {
  std::vector<ResultError> errors;
  for (const TensorSpec& spec : runnable.manifest.tensors) {
    const auto found = file.tensors.find(spec.name);
    if (!gives(runnable.passes, spec.role) || found == file.tensors.end()) continue;
    expect_shape(file, spec, found->second, shape_of(spec, runnable.manifest, values.size));
    errors.push_back(result_error(spec.name + " (file)", values.tensors.at(spec.name), widened(found->second),
                                  bound_for(runnable.manifest, spec) + rounding_of(found->second.dtype()), reference,
                                  runnable, spec));
  }
  return errors;
}

}  // namespace wkvc
