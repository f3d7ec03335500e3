// An emitted nest beside the float64 recurrence, token after token.
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/compiler.h"
#include "dsl/builtin.h"
#include "tests/nest/texts.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

constexpr std::int64_t kBatches = 2, kHeads = 3, kHead = 128;
// Of outputs in bf16, whose own rounding is 1.66e-3, and of the state; of the outputs of a head, and of a token.
constexpr double kBound = 1.8e-3, kBoundOfHead = 2.2e-3, kBoundOfToken = 3e-3;

enum class Gates { mild, steep, mixed, none };

class Nest : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};

std::string recurrence() {
  Config config;
  config.key_dim = config.value_dim = static_cast<int>(kHead);
  return rec_text(gated_delta_net(), config);
}

// The logarithm of a token's decay.
double gate(Gates gates, std::size_t token) {
  const double mild = -0.02 * (1 + static_cast<double>(token % 7));
  switch (gates) {
    case Gates::mild:
      return mild;
    case Gates::steep:
      return -5.0 - static_cast<double>(token % 40);
    case Gates::mixed:
      return token % 10 == 3 ? -30.0 : mild;
    case Gates::none:
      return 0;
  }
  return 0;
}

Problem problem_of(const Manifest& manifest, std::int64_t tokens, Gates gates) {
  Problem problem = random_problem(manifest, recurrence(), {kBatches, tokens, kHeads}, 11);
  std::vector<double>& g = problem.values.at("g");
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = gate(gates, i / kHeads + i % kHeads);
  return problem;
}

// Relative errors of single heads, and of single tokens of all heads.
void expect_everywhere(const std::vector<double>& o, const std::vector<double>& reference, std::int64_t tokens) {
  const std::size_t heads = kBatches * kHeads;
  std::vector<double> error(heads + static_cast<std::size_t>(kBatches * tokens)), norm(error.size());
  const auto add = [&](std::size_t where, double difference, double value) {
    error[where] += difference * difference, norm[where] += value * value;
  };
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::size_t head = i / kHead % kHeads, token = i / kHead / kHeads;
    const double difference = o[i] - reference[i];
    add(token / static_cast<std::size_t>(tokens) * kHeads + head, difference, reference[i]);
    add(heads + token, difference, reference[i]);
  }
  for (std::size_t i = 0; i < error.size(); ++i)
    EXPECT_LE(std::sqrt(error[i] / norm[i]), i < heads ? kBoundOfHead : kBoundOfToken)
        << (i < heads ? "head " : "token ") << (i < heads ? i : i - heads);
}

TEST_P(Nest, FollowsTheRecurrence) {
  const Program program =
      Program::load(lower_to(source_from(text_named("gdn_c64_forward")), Stage::cuda, {}), GetParam());
  const Manifest& manifest = program.manifest();
  for (const Gates gates : {Gates::mild, Gates::steep, Gates::mixed, Gates::none})
    for (const std::int64_t tokens : {1, 63, 64, 65, 200}) {
      SCOPED_TRACE("T " + std::to_string(tokens) + ", gates " + std::to_string(static_cast<int>(gates)));
      const Problem problem = problem_of(manifest, tokens, gates);
      const Values reference = reference_of(manifest, recurrence(), problem.size, rounded(manifest, problem));
      const TensorMap memory = run_in_memory(program, problem);
      for (const TensorSpec& spec : manifest.tensors) {
        if (!reference.contains(spec.name)) continue;
        const Layout layout = layout_of(spec, manifest, problem.size);
        const std::vector<double> result = read(memory.at(spec.name), layout);
        EXPECT_FALSE(written_past_tail(memory.at(spec.name), layout)) << spec.name;
        EXPECT_LE(relative_error(result, reference.at(spec.name)), kBound) << spec.name;
        if (spec.name == "o") expect_everywhere(result, reference.at("o"), tokens);
      }
    }
}

TEST_P(Nest, TakesAndGivesNoState) {
  const Program program =
      Program::load(lower_to(source_from(text_named("gdn_c64_forward")), Stage::cuda, {}), GetParam());
  Problem problem = problem_of(program.manifest(), 70, Gates::mild);
  problem.absent = {"initial_state", "final_state"};
  for (const auto& [name, error] : run_and_compare(program, recurrence(), problem)) EXPECT_LE(error, kBound) << name;
}

INSTANTIATE_TEST_SUITE_P(Host, Nest, testing::Values(Target::host));
INSTANTIATE_TEST_SUITE_P(Cuda, Nest, testing::Values(Target::cuda));

}  // namespace
}  // namespace wkvc::test
