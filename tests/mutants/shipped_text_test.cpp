// Whatever is wrong in the text of a shipped kernel shows in the results of its program, or races. Under the label
// sweep, a part of the mutants each run.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/mutants/batch.h"
#include "tests/mutants/edits.h"
#include "tests/mutants/equivalent.h"
#include "tests/mutants/shipped_problem.h"
#include "tests/run/sample.h"

namespace wkvc::test {
namespace {

constexpr const char* kTakesAll = "WKVC_TEST_ALL_MUTANTS";
constexpr std::size_t kKernels = 3, kEdited = 16, kDeleted = 5;  // 63 mutants a run

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

bool is_equivalent(const std::string& kernel, const Mutant& mutant) {
  return std::ranges::any_of(kEquivalent, [&](const Reason& reason) { return is_for(reason, kernel, mutant); });
}

// So many of those that are not equivalent.
std::vector<Mutant> drawn_mutants(const std::vector<Rule>& rules, const std::string& kernel, std::size_t count) {
  auto mutants = mutants_by(rules, kernel);
  std::erase_if(mutants, [&](const Mutant& mutant) { return is_equivalent(kernel, mutant); });
  std::vector<Mutant> some;
  for (const std::size_t i : drawn(count, mutants.size(), kTakesAll)) some.push_back(std::move(mutants[i]));
  return some;
}

// Those mutants that do what the kernel does.
std::vector<Mutant> unnoticed(const ShippedProblem& problem, std::vector<Mutant> mutants, Races races) {
  std::vector<std::string> kernels{problem.kernel().kernel};
  for (const Mutant& mutant : mutants) kernels.push_back(mutant.text);
  const auto outcomes = run_where_compiled(problem.kernel(), kernels, races);
  const auto is_noticed = [&](const Outcome& outcome) {
    return !outcome.ran || outcome.raced || !problem.fault_of(outcome.results).empty();
  };
  EXPECT_TRUE(outcomes[0].ran);
  EXPECT_FALSE(outcomes[0].raced);
  EXPECT_EQ(problem.fault_of(outcomes[0].results), "");
  std::vector<Mutant> left;
  for (std::size_t i = 0; i < mutants.size(); ++i)
    if (!is_noticed(outcomes[i + 1])) left.push_back(std::move(mutants[i]));
  return left;
}

void expect_noticed(const ShippedKernel& kernel, std::vector<Mutant> mutants, Races races) {
  for (const Numbers numbers : numbers_for(kernel.shipped, kernel.symbol))
    if (!mutants.empty())
      mutants = unnoticed(ShippedProblem(kernel.shipped, kernel.symbol, numbers), std::move(mutants), races);
  for (const Mutant& mutant : mutants) ADD_FAILURE() << mutant.name;
}

TEST(ShippedText, FaultsAreNoticed) {
  const auto kernels = all_kernels();
  for (const std::size_t i : drawn(kKernels, kernels.size(), kTakesAll)) {
    SCOPED_TRACE(kernels[i].shipped.name + ": " + kernels[i].symbol);
    const std::string text = text_of(kernels[i].shipped, kernels[i].symbol);
    expect_noticed(kernels[i], drawn_mutants(kEdits, text, kEdited), Races::ignored);
    expect_noticed(kernels[i], drawn_mutants(kDeletedSync, text, kDeleted), Races::reported);
  }
}

// Takes reasons that hold for a mutant of this kernel off the list.
void take_those_met(std::vector<Reason>& reasons, const std::string& kernel) {
  auto mutants = mutants_by(kEdits, kernel);
  std::ranges::move(mutants_by(kDeletedSync, kernel), std::back_inserter(mutants));
  std::erase_if(reasons, [&](const Reason& reason) {
    return std::ranges::any_of(mutants, [&](const Mutant& mutant) { return is_for(reason, kernel, mutant); });
  });
}

// No reason outlives the text that it was written for.
TEST(EquivalentText, EveryReasonIsForAMutant) {
  std::vector<Reason> reasons = kEquivalent;
  std::set<std::string> texts;
  for (const auto& [shipped, symbol] : all_kernels()) texts.insert(text_of(shipped, symbol));
  for (const std::string& text : texts) take_those_met(reasons, text);
  for (const Reason& reason : reasons) ADD_FAILURE() << reason.reason;
}

}  // namespace
}  // namespace wkvc::test
