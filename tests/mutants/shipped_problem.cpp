#include "tests/mutants/shipped_problem.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "dsl/registry.h"
#include "runtime/manifest/refusal_names.h"

namespace wkvc::test {
namespace {

// Of so many tokens that each segment goes through its slots, and through the chunks between saved states, more than
// once, and that the last one has a tail.
LaunchSize size_of(const Config& config) {
  const int forward = config.segments * config.teams * config.rounds * config.cluster;
  const int backward = config.backward_segments * std::max(config.backward_teams, config.save_every / 16);
  return {1, 16 * 2 * std::max(forward, backward) + 6, 2};
}

Definition definition_of(const ShippedConfig& shipped) { return Registry::builtin().find(shipped.op); }

bool is_refusal(const TensorSpec& spec) { return is_of_refusals(spec.name); }

// Whether a block says what it refuses in element i. Of summaries, that of the segment which no other one follows has
// none: the last one, or backward the first.
bool is_told(const TensorSpec& spec, std::size_t i, std::size_t segments) {
  if (spec.name == refusals_name(/*backward=*/false, /*summary=*/true)) return i % segments + 1 != segments;
  return spec.name != refusals_name(/*backward=*/true, /*summary=*/true) || i % segments != 0;
}

// Whether it leaves to the kernel behind it what it refuses.
bool is_plain(const Manifest& kernel) { return !kernel.refused && std::ranges::any_of(kernel.tensors, is_refusal); }

// Every second decay so mild that a segment remembers the state before it.
void make_milder(Problem& problem) {
  auto& values = problem.values.at("w");
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] -= 5;
}

// States are near one, of any magnitudes: they are saved in f16.
Problem values_for(const ShippedConfig& shipped, const Manifest& program, const Manifest& kernel, LaunchSize size) {
  const Definition definition = definition_of(shipped);
  if (is_plain(kernel)) {
    Problem problem = random_problem(program, rec_text(definition, shipped.config), size, 5);
    make_milder(problem);
    return problem;
  }
  Problem problem = problem_of_all_magnitudes(definition, program, size);
  make_milder(problem);
  for (const char* name : {"v", "initial_state"})
    for (double& x : problem.values.at(name)) x = std::ldexp(x, -40);
  return problem;
}

Program program_of(const ShippedConfig& shipped) {
  return Program::load(cuda_text(definition_of(shipped), shipped.config), Target::host);
}

}  // namespace

std::vector<std::string> symbols_of(const ShippedConfig& shipped) {
  std::vector<std::string> symbols;
  for (const Manifest& manifest : manifests_from(cuda_text(definition_of(shipped), shipped.config)))
    if (manifest.grid != Grid::head) symbols.push_back(manifest.kernel);
  return symbols;
}

ShippedProblem::ShippedProblem(const ShippedConfig& shipped, const std::string& symbol)
    : config_(shipped.config), program_(program_of(shipped)), size_(size_of(config_)) {
  const auto kernels = program_.kernels();
  const auto is_it = [&](const Kernel& kernel) { return kernel.manifest().kernel == symbol; };
  place_ = static_cast<std::size_t>(std::ranges::find_if(kernels, is_it) - kernels.begin());
  const Manifest &all = program_.manifest(), &manifest = kernels[place_].manifest();
  const Problem values = values_for(shipped, all, manifest, size_);
  for (const TensorSpec& spec : all.tensors) {
    const Layout layout = layout_of(spec, all, size_);
    HostTensor& memory = memory_[spec.name] = poisoned(spec.dtype, layout);
    if (values.values.contains(spec.name)) write(memory, layout, values.values.at(spec.name));
  }
  run(0, place_, memory_);
  kernel_ = {kernel_in(program_.source(), symbol), manifest, size_, {}, {}, 0};
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_result(spec.role)) memory_.at(spec.name).poison();
    kernel_.memory[spec.name] = memory_.at(spec.name);
  }
  expected_ = reference_of(all, rec_text(definition_of(shipped), config_), size_, rounded(all, values));
}

void ShippedProblem::launch(const Kernel& kernel, TensorMap& memory) const {
  std::vector<Tensor> views;
  for (const TensorSpec& spec : kernel.manifest().tensors)
    views.push_back(layout_of(spec, program_.manifest(), size_).view(memory.at(spec.name).view()));
  kernel.launch(views, size_);
}

void ShippedProblem::run(std::size_t from, std::size_t to, TensorMap& memory) const {
  for (std::size_t i = from; i < to; ++i) launch(program_.kernels()[i], memory);
}

std::string ShippedProblem::fault_of(const TensorMap& written) const {
  TensorMap memory = memory_;
  for (const auto& [name, tensor] : written) memory.at(name) = tensor;
  run(place_ + 1, program_.kernels().size(), memory);
  std::string fault;
  for (const TensorSpec& spec : program_.manifest().tensors) {
    const HostTensor& tensor = memory.at(spec.name);
    if (is_refusal(spec) && is_plain(kernel_.manifest))
      for (std::size_t i = 0; i < tensor.size(); ++i)
        if (is_told(spec, i, tensor.size() / static_cast<std::size_t>(size_.batches * size_.heads)) &&
            tensor.get(i) != 0)
          fault += spec.name + ". ";  // nor left unwritten, which refuses, too
    if (!is_result(spec.role)) continue;
    const Layout layout = layout_of(spec, program_.manifest(), size_);
    const double error = relative_error(read(tensor, layout), expected_.at(spec.name));
    if (!(error <= bound_of(config_, spec.role))) fault += fmt::format("{}: error {:.2e}. ", spec.name, error);
    if (written_past_tail(tensor, layout)) fault += spec.name + ": written past the tail. ";
  }
  return fault;
}

}  // namespace wkvc::test
