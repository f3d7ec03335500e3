// Without any one of its barriers and waits a kernel computes something else, or races.
#include <gtest/gtest.h>

#include <set>

#include "dsl/builtin.h"
#include "dsl/registry.h"
#include "tests/mutants/batch.h"
#include "tests/mutants/edits.h"
#include "tests/mutants/shipped.h"
#include "tests/run/sample.h"

namespace wkvc::test {
namespace {

constexpr std::size_t kDrawn = 5;  // mutants of a kernel, each run

struct Case {
  std::string name;
  Definition (*definition)();
  std::string io, mma;
  MutantProblem (*problem)(const Definition& definition, Config config);
  // Barriers between two loops, by number, that nothing crosses where offsets keep the loops' shared memory apart.
  std::set<std::size_t> spare = {};
};
void PrintTo(const Case& kernel, std::ostream* out) { *out << kernel.name; }

class DeletedSync : public testing::TestWithParam<Case> {};

bool is_noticed(const MutantProblem& problem, const Outcome& outcome) {
  return outcome.raced || !fault_of(problem, outcome.results).empty();
}

// `spare`: barriers, by number, that are not missed.
void expect_all_noticed(const MutantProblem& problem, const std::set<std::size_t>& spare) {
  const auto mutants = mutants_by(kDeletedSync, problem.kernel);
  ASSERT_GE(mutants.size(), 3u);
  std::vector<std::string> kernels{problem.kernel};
  const auto numbers = drawn(kDrawn, mutants.size());
  for (const std::size_t i : numbers) kernels.push_back(mutants[i].text);
  const auto outcomes = run_batch(problem, kernels, Races::reported);
  EXPECT_EQ(fault_of(problem, outcomes[0].results), "");
  EXPECT_FALSE(outcomes[0].raced);
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::size_t i = numbers[n];
    const bool is_spare = spare.contains(i) && mutants[i].name.find("barrier") != std::string::npos;
    if (is_spare) continue;
    EXPECT_TRUE(is_noticed(problem, outcomes[n + 1])) << mutants[i].name << ", number " << i;
  }
}

TEST_P(DeletedSync, IsNoticed) {
  const Config config{.io = GetParam().io, .mma = GetParam().mma};
  expect_all_noticed(GetParam().problem(GetParam().definition(), config), GetParam().spare);
}

// No rule outlives the text that it was written for.
TEST(DeletedSync, EveryRuleMatches) {
  std::string texts;
  for (const ShippedConfig& shipped : shipped_configs())
    texts += cuda_text(Registry::builtin().find(shipped.op), shipped.config);
  texts += cuda_text(rwkv7(), {.teams = 2, .rounds = 2, .cluster = 2, .scales = "guarded"});
  for (const Rule& rule : kDeletedSync) EXPECT_FALSE(mutants_by(rule, texts).empty()) << rule.name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, DeletedSync,
                         testing::Values(Case{"Rwkv7F16", rwkv7, "bf16", "f16", mutant_problem},
                                         Case{"Rwkv7F32", rwkv7, "f32", "f32", mutant_problem},
                                         Case{"Rwkv6F16", rwkv6, "bf16", "f16", mutant_problem},
                                         Case{"Rwkv6F32", rwkv6, "f32", "f32", mutant_problem},
                                         Case{"Rwkv7Teams", rwkv7, "bf16", "f16", teams_problem},
                                         Case{"Rwkv6Teams", rwkv6, "bf16", "f16", teams_problem},
                                         Case{"Rwkv7Ahead", rwkv7, "bf16", "f16", ahead_problem},
                                         Case{"Rwkv6Ahead", rwkv6, "bf16", "f16", ahead_problem},
                                         Case{"Rwkv7Cluster", rwkv7, "bf16", "f16", cluster_problem},
                                         Case{"Rwkv7GuardedCluster", rwkv7, "bf16", "f16", guarded_cluster_problem},
                                         Case{"Rwkv7Backward", rwkv7, "bf16", "f16", backward_problem},
                                         Case{"Rwkv6Backward", rwkv6, "bf16", "f16", backward_problem},
                                         Case{"Rwkv7Pairs", rwkv7, "bf16", "f16", pairs_problem, {4}},
                                         Case{"Rwkv7NoCopies", rwkv7, "bf16", "f16", no_copies_problem},
                                         Case{"Rwkv7BackwardTeams", rwkv7, "bf16", "f16", backward_teams_problem},
                                         Case{"Rwkv6BackwardTeams", rwkv6, "bf16", "f16", backward_teams_problem},
                                         Case{"Rwkv7Again", rwkv7, "bf16", "f16", again_problem},
                                         Case{"Rwkv7Groups", rwkv7, "bf16", "f16", groups_problem, {4}},
                                         Case{"Rwkv6Groups", rwkv6, "bf16", "f16", groups_problem, {0, 3}}),
                         [](const auto& kernel) { return kernel.param.name; });

}  // namespace
}  // namespace wkvc::test
