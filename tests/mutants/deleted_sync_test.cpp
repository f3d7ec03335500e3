// Without any one of its barriers and waits a kernel computes something else, or races.
#include <gtest/gtest.h>

#include <set>

#include "dsl/builtin.h"
#include "tests/mutants/batch.h"
#include "tests/mutants/edits.h"

namespace wkvc::test {
namespace {

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

TEST_P(DeletedSync, IsNoticed) {
  Config config;
  config.io = GetParam().io;
  config.mma = GetParam().mma;
  const MutantProblem problem = GetParam().problem(GetParam().definition(), config);
  const auto mutants = mutants_by(kDeletedSync, problem.kernel);
  ASSERT_GE(mutants.size(), 3u);
  std::vector<std::string> kernels{problem.kernel};
  for (const Mutant& mutant : mutants) kernels.push_back(mutant.text);
  const auto outcomes = run_batch(problem, kernels, Races::reported);
  EXPECT_EQ(fault_of(problem, outcomes[0].results), "");
  EXPECT_FALSE(outcomes[0].raced);
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    if (GetParam().spare.contains(i)) {
      EXPECT_NE(mutants[i].name.find("barrier"), std::string::npos) << mutants[i].name << ", number " << i;
      continue;
    }
    const Outcome& outcome = outcomes[i + 1];
    EXPECT_TRUE(outcome.raced || !fault_of(problem, outcome.results).empty()) << mutants[i].name << ", number " << i;
  }
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
                                         Case{"Rwkv7Backward", rwkv7, "bf16", "f16", backward_problem},
                                         Case{"Rwkv6Backward", rwkv6, "bf16", "f16", backward_problem},
                                         Case{"Rwkv7Pairs", rwkv7, "bf16", "f16", pairs_problem, {7}},
                                         Case{"Rwkv7BackwardTeams", rwkv7, "bf16", "f16", backward_teams_problem},
                                         Case{"Rwkv6BackwardTeams", rwkv6, "bf16", "f16", backward_teams_problem},
                                         Case{"Rwkv7Again", rwkv7, "bf16", "f16", again_problem},
                                         Case{"Rwkv7Groups", rwkv7, "bf16", "f16", groups_problem, {9}},
                                         Case{"Rwkv6Groups", rwkv6, "bf16", "f16", groups_problem, {0, 8}}),
                         [](const auto& kernel) { return kernel.param.name; });

}  // namespace
}  // namespace wkvc::test
