#include "tests/mutants/shipped_problem.h"

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

// Of so many more that slots are handed over after a block has refused, for which that takes three rounds.
LaunchSize size_of(const Config& config, Numbers numbers) {
  LaunchSize size = size_of(config);
  if (numbers == Numbers::refused) size.tokens *= 2;
  return size;
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
bool refuses(const Manifest& kernel) { return !kernel.refused && std::ranges::any_of(kernel.tensors, is_refusal); }

// Every second decay so mild that a segment remembers the state before it.
void make_milder(Problem& problem) {
  auto& values = problem.values.at("w");
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] -= 5;
}

void scale(Problem& problem, const char* name, int exponent) {
  const auto found = problem.values.find(name);
  if (found == problem.values.end()) return;
  for (double& x : found->second) x = std::ldexp(x, exponent);
}

// What token 3 of each chunk adds along the next token's a makes elements of the inverse that are far from one.
void spread_inverses(Problem& problem, std::size_t row) {
  if (!problem.values.contains("a")) return;
  const auto& a = problem.values.at("a");
  auto& b = problem.values.at("b");
  for (std::size_t i = 0; i + row < a.size(); ++i)
    if (i / row % 16 == 3) b[i] += std::ldexp(a[i + row], -30);
}

// States are near one, of any magnitudes: they are saved in f16. Gradients are small, but not so small that scales end.
Problem values_at_all_magnitudes(const Definition& definition, const Manifest& program, LaunchSize size) {
  Problem problem = problem_of_all_magnitudes(definition, program, size);
  make_milder(problem);
  spread_inverses(problem, static_cast<std::size_t>(size.heads * program.key_dim));
  for (const char* name : {"v", "initial_state"}) scale(problem, name, -40);
  for (const char* name : {"do", "dfinal_state"}) scale(problem, name, 40);
  return problem;
}

// A number beyond f16, for the first warp of a cluster's last block alone: of the last head, at its first token. Other
// values are large enough that errors do not depend on how that one is rounded.
void exceed(Problem& problem, const Manifest& program, const Config& config) {
  scale(problem, "v", 9);
  const auto values = static_cast<std::size_t>(program.value_dim);
  const std::size_t head = values * static_cast<std::size_t>(problem.size.heads - 1);
  problem.values.at("v").at(head + values - values / static_cast<std::size_t>(config.cluster)) = 0x1p16;
}

Problem values_for(const ShippedConfig& shipped, const Manifest& program, LaunchSize size, Numbers numbers) {
  const Definition definition = definition_of(shipped);
  if (numbers == Numbers::any) return values_at_all_magnitudes(definition, program, size);
  Problem problem = random_problem(program, rec_text(definition, shipped.config), size, 5);
  make_milder(problem);
  if (numbers == Numbers::refused) exceed(problem, program, shipped.config);
  return problem;
}

Program program_of(const ShippedConfig& shipped) {
  return Program::load(cuda_text(definition_of(shipped), shipped.config), Target::host);
}

// Whether a block may say so in element i. Where a number is refused, blocks of the second head may say either.
bool is_right(double said, std::size_t i, std::size_t all, Numbers numbers) {
  return numbers == Numbers::refused && i >= all / 2 ? !std::isnan(said) : said == 0;
}

}  // namespace

std::vector<std::string> symbols_of(const ShippedConfig& shipped) {
  std::vector<std::string> symbols;
  for (const Manifest& manifest : manifests_from(cuda_text(definition_of(shipped), shipped.config)))
    if (manifest.grid != Grid::head) symbols.push_back(manifest.kernel);
  return symbols;
}

std::string text_of(const ShippedConfig& shipped, const std::string& symbol) {
  return kernel_in(cuda_text(definition_of(shipped), shipped.config), symbol);
}

std::vector<Numbers> numbers_for(const ShippedConfig& shipped, const std::string& symbol) {
  for (const Manifest& manifest : manifests_from(cuda_text(definition_of(shipped), shipped.config)))
    if (manifest.kernel == symbol && refuses(manifest)) return {Numbers::held, Numbers::refused};
  return {Numbers::any};
}

ShippedProblem::ShippedProblem(const ShippedConfig& shipped, const std::string& symbol, Numbers numbers)
    : config_(shipped.config), program_(program_of(shipped)), numbers_(numbers), size_(size_of(config_, numbers)) {
  const auto kernels = program_.kernels();
  const auto is_it = [&](const Kernel& kernel) { return kernel.manifest().kernel == symbol; };
  place_ = static_cast<std::size_t>(std::ranges::find_if(kernels, is_it) - kernels.begin());
  const Manifest &all = program_.manifest(), &manifest = kernels[place_].manifest();
  const Problem values = values_for(shipped, all, size_, numbers);
  for (const TensorSpec& spec : all.tensors) {
    const Layout layout = layout_of(spec, all, size_);
    HostTensor& memory = memory_[spec.name] = poisoned(spec.dtype, layout);
    if (values.values.contains(spec.name)) write(memory, layout, values.values.at(spec.name));
  }
  run(0, place_, memory_);
  kernel_ = {kernel_in(program_.source(), symbol), manifest, size_, {}};
  for (const TensorSpec& spec : manifest.tensors) {
    if (is_result(spec.role)) memory_.at(spec.name).poison();
    kernel_.memory[spec.name] = memory_.at(spec.name);
  }
  kernel_.judge = std::make_shared<Judge>(all, rec_text(definition_of(shipped), config_), values);
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
    if (is_refusal(spec) && refuses(kernel_.manifest)) fault += fault_of_refusals(spec, memory.at(spec.name));
    if (is_result(spec.role)) fault += fault_of_result(spec, memory.at(spec.name));
  }
  return fault;
}

// What is left unwritten refuses, too.
std::string ShippedProblem::fault_of_refusals(const TensorSpec& spec, const HostTensor& tensor) const {
  const std::size_t all = tensor.size(), segments = all / static_cast<std::size_t>(size_.batches * size_.heads);
  for (std::size_t i = 0; i < all; ++i)
    if (is_told(spec, i, segments) && !is_right(tensor.get(i), i, all, numbers_)) return spec.name + ". ";
  return "";
}

std::string ShippedProblem::fault_of_result(const TensorSpec& spec, const HostTensor& tensor) const {
  const Layout layout = layout_of(spec, program_.manifest(), size_);
  std::string fault = kernel_.judge->fault_of(spec.name, read(tensor, layout));
  if (written_past_tail(tensor, layout)) fault += spec.name + ": written past the tail. ";
  return fault;
}

}  // namespace wkvc::test
