#include "tests/mutants/problem.h"

#include <algorithm>
#include <cmath>

#include "tests/mutants/written.h"

namespace wkvc::test {
namespace {

void scale(Problem& problem, const std::string& name, int exponent) {
  const auto found = problem.values.find(name);
  if (found == problem.values.end()) return;
  for (double& x : found->second) x = std::ldexp(x, exponent);
}

// Powers of two beyond f16's range, such that products of the same kind stay of one magnitude: v kᵀ and the state, a bᵀ
// and one, r doᵀ and the state's gradient.
void spread_magnitudes(Problem& problem) {
  for (auto [name, exponent] : {std::pair{"r", 40},
                                {"k", 20},
                                {"v", 20},
                                {"initial_state", 40},
                                {"a", 16},
                                {"b", -16},
                                {"do", -110},
                                {"dfinal_state", -70}})
    scale(problem, name, exponent);
}

// Raw decays of -exp(w): mild ones, through which the state lives on, and now and then one that forgets everything.
void mix_decays(std::vector<double>& w) {
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = i % 997 == 0 ? 80 : w[i] - 4;
}

// Of magnitudes that kernels without scales would refuse, where there are none.
Problem values_for(const Definition& definition, const Config& config, const Manifest& manifest, LaunchSize size) {
  return config.scales == "guarded" ? random_problem(manifest, size, 5)
                                    : problem_of_all_magnitudes(definition, manifest, size);
}

// The kernel called `symbol` of the text, as though the others had run.
MutantProblem problem_of(const Definition& definition, const Config& config, LaunchSize size,
                         const std::string& symbol) {
  const Program program = Program::load(cuda_text(definition, config), Target::host);
  const auto is_it = [&](const Kernel& kernel) { return kernel.manifest().kernel == symbol; };
  const Manifest& manifest = std::ranges::find_if(program.kernels(), is_it)->manifest();
  const Problem values = values_for(definition, config, program.manifest(), size);
  MutantProblem problem{kernel_in(program.source(), symbol), manifest, values.size, {}};
  TensorMap memory = run_in_memory(program, values);
  for (const TensorSpec& spec : manifest.tensors) {
    HostTensor& tensor = problem.memory[spec.name] = std::move(memory.at(spec.name));
    if (is_written(spec)) tensor.poison();
  }
  problem.judge = std::make_shared<Judge>(program.manifest(), rec_text(definition, config), values);
  return problem;
}

// The sums of a workspace's rows over the batches.
std::vector<double> summed(const std::vector<double>& parts, LaunchSize size) {
  std::vector<double> sum(parts.size() / static_cast<std::size_t>(size.batches));
  for (std::size_t i = 0; i < parts.size(); ++i) sum[i % sum.size()] += parts[i];
  return sum;
}

std::string fault_of_values(const MutantProblem& problem, const TensorSpec& spec, const std::vector<double>& values) {
  if (spec.role != Role::workspace) return problem.judge->fault_of(spec.name, values);
  return problem.judge->fault_of(spec.name.substr(0, spec.name.find("_parts")), summed(values, problem.size));
}

MutantProblem backward_problem_of(const Definition& definition, Config config, std::int64_t tokens) {
  config.pass = "both";
  config.backward_blocks = 1;  // with room for all copies ahead
  if (!config.key_dim) config.key_dim = config.value_dim = 32;
  return problem_of(definition, config, {2, tokens, 2}, definition.name + "_backward");
}

MutantProblem forward_problem_of(const Definition& definition, const Config& config, LaunchSize size) {
  return problem_of(definition, config, size, definition.name + "_forward");
}

}  // namespace

std::string kernel_in(const std::string& text, const std::string& symbol) {
  const std::size_t first = text.find("WKVC_KERNEL(" + symbol + ",");
  const std::string end = "\n}\n";
  return text.substr(first, text.find(end, first) + end.size() - first);
}

Problem problem_of_all_magnitudes(const Definition& definition, const Manifest& manifest, LaunchSize size) {
  Problem problem = random_problem(manifest, size, 5);
  spread_magnitudes(problem);
  if (definition.name == "rwkv6") mix_decays(problem.values.at("w"));
  return problem;
}

MutantProblem mutant_problem(const Definition& definition, Config config) {
  return forward_problem_of(definition, config, {2, 70, 3});
}

MutantProblem backward_problem(const Definition& definition, Config config) {
  config.save_every = 16;  // every state: the loop over the chunks is the whole kernel
  return backward_problem_of(definition, config, 40);
}

MutantProblem teams_problem(const Definition& definition, Config config) {
  config.teams = 2;
  return mutant_problem(definition, config);
}

// Of so many tokens that slots are used again.
MutantProblem ahead_problem(const Definition& definition, Config config) {
  config.teams = config.rounds = 2;
  return forward_problem_of(definition, config, {1, 150, 2});
}

MutantProblem cluster_problem(const Definition& definition, Config config) {
  config.cluster = 2;
  return ahead_problem(definition, config);
}

MutantProblem guarded_cluster_problem(const Definition& definition, Config config) {
  config.scales = "guarded";
  return cluster_problem(definition, config);
}

MutantProblem no_copies_problem(const Definition& definition, Config config) {
  config.sram = 19000;
  return backward_problem(definition, config);
}

MutantProblem pairs_problem(const Definition& definition, Config config) {
  config.save_every = 32;
  return backward_problem_of(definition, config, 70);
}

MutantProblem backward_teams_problem(const Definition& definition, Config config) {
  config.backward_teams = 2;
  config.key_dim = config.value_dim = 64;
  return backward_problem_of(definition, config, 70);
}

MutantProblem again_problem(const Definition& definition, Config config) {
  config.backward_teams = 2;
  config.save_every = 64;
  config.scales = "guarded";
  config.key_dim = config.value_dim = 64;
  return backward_problem_of(definition, config, 133);
}

MutantProblem groups_problem(const Definition& definition, Config config) {
  config.save_every = 64;
  return backward_problem_of(definition, config, 140);
}

std::string fault_of(const MutantProblem& problem, const TensorMap& results) {
  std::string fault;
  for (const TensorSpec& spec : problem.manifest.tensors) {
    if (!is_result(spec.role) && !is_parts(spec)) continue;
    const HostTensor& tensor = results.at(spec.name);
    const Layout layout = layout_of(spec, problem.manifest, problem.size);
    fault += fault_of_values(problem, spec, read(tensor, layout));
    if (written_past_tail(tensor, layout)) fault += spec.name + ": written past the tail. ";
  }
  return fault;
}

}  // namespace wkvc::test
