// A variant that crashes, or waits in vain, did not run; its batch goes on.
#include "tests/mutants/batch.h"

#include <gtest/gtest.h>

#include "dsl/builtin.h"

namespace wkvc::test {
namespace {

// The kernel with a statement before its first one.
std::string beginning_with(const std::string& statement, const std::string& kernel) {
  const std::string start = ") {\n";
  const std::size_t body = kernel.find(start) + start.size();
  return kernel.substr(0, body) + "  " + statement + "\n" + kernel.substr(body);
}

void expect_first_alone_fails(const MutantProblem& problem, const std::string& first, Races races) {
  const auto outcomes = run_batch(problem, {first, problem.kernel}, races);
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_FALSE(outcomes[0].ran);
  EXPECT_NE(fault_of(problem, outcomes[0].results), "");
  EXPECT_TRUE(outcomes[1].ran);
  EXPECT_EQ(fault_of(problem, outcomes[1].results), "");
}

TEST(Batch, GoesOnAfterACrash) {
  const MutantProblem problem = mutant_problem(rwkv7(), {});
  const std::string crash = beginning_with("*static_cast<volatile int*>(nullptr) = 0;", problem.kernel);
  expect_first_alone_fails(problem, crash, Races::ignored);
  expect_first_alone_fails(problem, crash, Races::reported);
}

TEST(Batch, GoesOnAfterADeadlock) {
  const MutantProblem problem = mutant_problem(rwkv7(), {});
  expect_first_alone_fails(problem, beginning_with("if (block.warp == 0) return;", problem.kernel), Races::ignored);
}

}  // namespace
}  // namespace wkvc::test
