#include "tests/mutants/judge.h"

#include <fmt/core.h>

#include <algorithm>

#include "checking/reference/bounds.h"
#include "checking/reference/result_error.h"

namespace wkvc::test {
namespace {

Passes passes_of(const Manifest& program) {
  const bool both = std::ranges::any_of(program.tensors, [](const TensorSpec& spec) { return is_gradient(spec.role); });
  return both ? Passes::both : Passes::forward;
}

HostTensor stored(const TensorSpec& spec, const Manifest& program, LaunchSize size, const std::vector<double>& values) {
  HostTensor tensor(spec.dtype, shape_of(spec, program, size));
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, values.at(i));
  return tensor;
}

Case case_of(const Manifest& program, const Problem& problem) {
  Case given{problem.size, {}};
  for (const TensorSpec& spec : program.tensors) {
    const auto values = problem.values.find(spec.name);
    if (values != problem.values.end()) given.tensors[spec.name] = stored(spec, program, problem.size, values->second);
  }
  return given;
}

}  // namespace

Judge::Judge(const Manifest& program, const std::string& rec, const Problem& problem)
    : runnable_{"", passes_of(program), program},
      context_(mlir::MLIRContext::Threading::DISABLED),
      module_(rec::parse(rec, "test", context_)),
      given_(case_of(program, problem)),
      reference_(rec::recurrence_of(*module_), runnable_, given_) {}

std::string Judge::fault_of(const std::string& result, const std::vector<double>& values) const {
  const Manifest& program = runnable_.manifest;
  const TensorSpec& spec = *std::ranges::find(program.tensors, result, &TensorSpec::name);
  const HostTensor given = stored(spec, program, given_.size, values);
  const ResultError found =
      result_error(result, given, reference_.of(spec), bound_for(program, spec), reference_, runnable_, spec);
  if (found.passed()) return "";
  return fmt::format("{}: error {:.2e} of {:.2e}, row {:.2e} of {:.2e}. ", result, found.error, found.bound,
                     found.worst->error, found.worst->bound);
}

}  // namespace wkvc::test
