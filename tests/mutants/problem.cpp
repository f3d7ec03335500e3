#include "tests/mutants/problem.h"

#include <fmt/core.h>
#include <mlir/IR/MLIRContext.h>

#include <cmath>

#include "tests/forward/forward.h"

namespace wkvc::test {
namespace {

void scale(Problem& problem, const std::string& name, int exponent) {
  const auto found = problem.values.find(name);
  if (found == problem.values.end()) return;
  for (double& x : found->second) x = std::ldexp(x, exponent);
}

// Powers of two beyond f16's range, such that products of the same kind stay of one magnitude: v kᵀ and the state, a bᵀ
// and one.
void spread_magnitudes(Problem& problem) {
  for (auto [name, exponent] : {std::pair{"r", 40}, {"k", 20}, {"v", 20}, {"initial_state", 40}, {"a", 16}, {"b", -16}})
    scale(problem, name, exponent);
}

// Raw decays of -exp(w): mild ones, through which the state lives on, and now and then one that forgets everything.
void mix_decays(std::vector<double>& w) {
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = i % 997 == 0 ? 200 : w[i] - 4;
}

bool has_tokens(const TensorSpec& spec) { return spec.dims.size() > 1 && spec.dims[1] == "T"; }

// Where element i of a [B,T,H,D] tensor lies in memory.
std::size_t place_of(std::size_t i, std::size_t token_size, LaunchSize size) {
  const auto tokens = static_cast<std::size_t>(size.tokens);
  return i + i / (tokens * token_size) * kTokensPastTail * token_size;
}

std::size_t token_size(const TensorSpec& spec, const Manifest& manifest, LaunchSize size) {
  const auto shape = shape_of(spec, manifest, size);
  return static_cast<std::size_t>(element_count(shape) / shape[0] / shape[1]);
}

std::vector<std::size_t> places_of(const TensorSpec& spec, const Manifest& manifest, LaunchSize size) {
  std::vector<std::size_t> places(static_cast<std::size_t>(element_count(shape_of(spec, manifest, size))));
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = has_tokens(spec) ? place_of(i, token_size(spec, manifest, size), size) : i;
  return places;
}

HostTensor in_memory(const TensorSpec& spec, const Manifest& manifest, const Problem& problem) {
  HostTensor tensor(spec.dtype, shape_of(spec, manifest, padded(problem.size)));
  tensor.poison();
  if (is_written(spec)) return tensor;
  const auto places = places_of(spec, manifest, problem.size);
  for (std::size_t i = 0; i < places.size(); ++i) tensor.set(places[i], problem.values.at(spec.name)[i]);
  return tensor;
}

std::vector<double> logical_values(const HostTensor& tensor, const std::vector<std::size_t>& places) {
  std::vector<double> values;
  values.reserve(places.size());
  for (const std::size_t place : places) values.push_back(tensor.get(place));
  return values;
}

rec::Result expected_of(const std::string& rec, const MutantProblem& problem) {
  rec::Tensors inputs;
  for (const TensorSpec& spec : problem.manifest.tensors)
    inputs[spec.name] = logical_values(problem.memory.at(spec.name), places_of(spec, problem.manifest, problem.size));
  mlir::MLIRContext context;
  const auto module = rec::parse(rec, "test", context);
  const rec::Shape shape{problem.size.batches, problem.size.tokens, problem.size.heads};
  return rec::interpret(rec::recurrence_of(*module), shape, inputs, inputs.at("initial_state"));
}

double relative_error(const std::vector<double>& x, const std::vector<double>& expected) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - expected[i]) * (x[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / norm);
}

// Elements that are not NaN, which a result is before the kernel runs.
std::size_t written(const HostTensor& tensor) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) count += std::isnan(tensor.get(i)) ? 0 : 1;
  return count;
}

}  // namespace

MutantProblem mutant_problem(const Definition& definition, const Config& config) {
  const std::string cuda = cuda_text(definition, config);
  const LaunchSize size{2, 70, 3};
  MutantProblem problem{cuda.substr(cuda.find("WKVC_KERNEL(")), manifest_from(cuda), size, {}, {}, 0};
  Problem values = random_problem(problem.manifest, size, 5);
  spread_magnitudes(values);
  if (definition.name == "rwkv6") mix_decays(values.values.at("w"));
  for (const TensorSpec& spec : problem.manifest.tensors)
    problem.memory[spec.name] = in_memory(spec, problem.manifest, values);
  problem.expected = expected_of(rec_text(definition, config), problem);
  problem.bound = config.io == "f32" ? 1e-5 : 1.8e-3;
  return problem;
}

std::string fault_of(const MutantProblem& problem, const TensorMap& results) {
  std::string fault;
  for (const TensorSpec& spec : problem.manifest.tensors) {
    if (!is_written(spec)) continue;
    const HostTensor& tensor = results.at(spec.name);
    const auto& expected =
        spec.role == Role::output ? problem.expected.outputs.at(spec.name) : problem.expected.final_state;
    const double error =
        relative_error(logical_values(tensor, places_of(spec, problem.manifest, problem.size)), expected);
    if (!(error <= problem.bound)) fault += fmt::format("{}: error {:.2e}. ", spec.name, error);
    if (written(tensor) > expected.size()) fault += spec.name + ": written past the tail. ";
  }
  return fault;
}

}  // namespace wkvc::test
