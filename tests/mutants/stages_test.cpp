// Every stage's text is what the next one consumes, and a launch always writes the same bytes.
#include <gtest/gtest.h>

#include "dsl/builtin.h"
#include "tests/forward/forward.h"
#include "tests/mutants/edits.h"

namespace wkvc::test {
namespace {

const LaunchSize kSize{1, 70, 2};

std::string fed_back(const std::string& text) { return lower_to(source_from(text), Stage::cuda, {}); }

TEST(Stages, TextFedBackGivesTheSameKernel) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Source rec = source_from(rec_text(definition));
    const std::string direct = lower_to(rec, Stage::cuda, {});
    for (const Stage stage : {Stage::rec, Stage::chunk, Stage::warp, Stage::cuda})
      EXPECT_EQ(fed_back(lower_to(rec, stage, {})), direct) << definition.name << ", stage " << static_cast<int>(stage);
  }
}

TEST(Stages, InclusiveTrilInTheChunkTextIsWrong) {
  const std::string rec = rec_text(rwkv7());
  const std::string chunk = lower_to(source_from(rec), Stage::chunk, {});
  const std::string direct = fed_back(chunk);
  const Problem problem = random_problem(manifest_from(direct), kSize, 3);
  for (const auto& [name, error] : run_and_compare(direct, rec, problem, Target::host))
    EXPECT_LE(error, 1.8e-3) << name;
  const auto mutants = mutants_by({"made inclusive", "(chunk\\.tril %\\w+) strict", "$1"}, chunk);
  EXPECT_EQ(mutants.size(), 2u);
  for (const Mutant& mutant : mutants) {
    const std::string changed = fed_back(mutant.text);
    EXPECT_NE(changed, direct);
    for (const auto& [name, error] : run_and_compare(changed, rec, problem, Target::host))
      EXPECT_GT(error, 1e-2) << mutant.name << ", " << name;
  }
}

TEST(Stages, TenLaunchesWriteTheSameBytes) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const std::string cuda = cuda_text(definition, {});
    const Problem problem = random_problem(manifest_from(cuda), kSize, 4);
    const auto first = run_raw(cuda, problem, Target::host);
    for (int i = 1; i < 10; ++i) EXPECT_EQ(run_raw(cuda, problem, Target::host), first) << definition.name;
  }
}

}  // namespace
}  // namespace wkvc::test
