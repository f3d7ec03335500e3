// Whatever is wrong in the text of a shipped kernel shows in the results of its program, or races. A part of the
// mutants each run, all of them under the label sweep.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/mutants/batch.h"
#include "tests/mutants/edits.h"
#include "tests/mutants/shipped_problem.h"
#include "tests/run/sample.h"

namespace wkvc::test {
namespace {

constexpr std::size_t kKernels = 3, kEdited = 16, kDeleted = 5;  // 63 mutants a run

// Mutants that compute the same, and why.
struct Reason {
  std::regex names;
  const char* reason;
};
const std::vector<Reason> kEquivalent = {
    {std::regex("^another batch: "), "there is one batch"},
    {std::regex("^another head: .*(refused|guard|largest_of_sample)"), "guards find both heads alike"},
    {std::regex("^next chunk's slot: "), "the rings of teams have one slot"},
    {std::regex("store_scale\\(\\w*(slope|intercept)_number"), "a state may keep its scale for longer"},
    {std::regex("^(writer's|measured|tile's) scale 1: .*\\bM"), "the inverse's elements are near 1"},
    {std::regex("^reader's scale 1: const auto t_\\d+ = product_nt"), "the first term of a sum has its scale"},
};

struct ShippedKernel {
  ShippedConfig shipped;
  std::string symbol;
};

std::vector<ShippedKernel> all_kernels() {
  std::vector<ShippedKernel> all;
  for (const ShippedConfig& shipped : shipped_configs())
    for (const std::string& symbol : symbols_of(shipped)) all.push_back({shipped, symbol});
  return all;
}

void expect_noticed(const ShippedProblem& problem, const std::vector<Rule>& rules, std::size_t count, Races races) {
  auto mutants = mutants_by(rules, problem.kernel().kernel);
  std::erase_if(mutants, [](const Mutant& mutant) {
    return std::ranges::any_of(kEquivalent, [&](const Reason& of) { return std::regex_search(mutant.name, of.names); });
  });
  std::vector<std::string> names{"unchanged"}, kernels{problem.kernel().kernel};
  for (const std::size_t i : drawn(count, mutants.size())) {
    names.push_back(fmt::format("{}, number {}", mutants[i].name, i));
    kernels.push_back(mutants[i].text);
  }
  const auto outcomes = run_batch(problem.kernel(), kernels, races);
  EXPECT_EQ(problem.fault_of(outcomes[0].results), "");
  EXPECT_FALSE(outcomes[0].raced);
  for (std::size_t i = 1; i < outcomes.size(); ++i)
    EXPECT_TRUE(outcomes[i].raced || !problem.fault_of(outcomes[i].results).empty()) << names[i];
}

TEST(ShippedText, FaultsAreNoticed) {
  const auto kernels = all_kernels();
  for (const std::size_t i : drawn(kKernels, kernels.size())) {
    SCOPED_TRACE(kernels[i].shipped.name + ": " + kernels[i].symbol);
    const ShippedProblem problem(kernels[i].shipped, kernels[i].symbol);
    expect_noticed(problem, kEdits, kEdited, Races::ignored);
    expect_noticed(problem, kDeletedSync, kDeleted, Races::reported);
  }
}

}  // namespace
}  // namespace wkvc::test
