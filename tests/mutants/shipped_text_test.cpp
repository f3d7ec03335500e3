// Whatever is wrong in the text of a shipped kernel shows in the results of its program, or races. Under the label
// sweep, a part of the mutants each run.
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

constexpr const char* kTakesAll = "WKVC_TEST_ALL_MUTANTS";
constexpr std::size_t kKernels = 3, kEdited = 16, kDeleted = 5;  // 63 mutants a run

// The ring that a mutant reads another slot of has but one.
bool has_one_slot(const std::string& kernel, const Mutant& mutant) {
  std::smatch ring;
  return std::regex_search(mutant.name, ring, std::regex("= (\\w+_ring)\\[c\\]")) &&
         std::regex_search(kernel, std::regex("Ring<\\w+, \\d+, \\d+, 1(, Exchanged)?> " + ring[1].str() + "\\{"));
}

// Rows past the tail are told from others for running sums of decays alone.
bool keeps_decays_alone(const std::string& kernel, const Mutant&) {
  return !std::regex_search(kernel, std::regex("auto (?!log_w_valid)\\w+ = keep_rows\\("));
}

// Nobody reads the number of rows that the mutant declares.
bool declares_for_nobody(const std::string& kernel, const Mutant& mutant) {
  const auto changed = std::ranges::mismatch(kernel, mutant.text).in1;
  const std::string rest(std::find(changed, kernel.end(), '\n'), kernel.end());
  const std::string scope = rest.substr(0, rest.find("const int valid ="));
  return !std::regex_search(scope, std::regex("\\bvalid\\b"));
}

bool always(const std::string&, const Mutant&) { return true; }

// Mutants that compute the same, and why.
struct Reason {
  std::regex names;
  const char* reason;
  bool (*holds)(const std::string& kernel, const Mutant& mutant) = always;
};
const std::vector<Reason> kEquivalent = {
    {std::regex("^(inputs of )?another batch: "), "there is one batch"},
    {std::regex(
         "^call dropped: (team|slot)\\.|^call dropped: (wait_copies|commit_copies|block\\.(barrier|cluster|lower))"),
     "one order of warps does without; kDeletedSync deletes such where races are reported"},
    {std::regex("^call dropped: block\\.before_async_reads"), "the host has no other proxy"},
    {std::regex("^another head: .*(refused|guard|largest_of_sample)"), "guards find both heads alike"},
    {std::regex("^next chunk's slot: "), "that ring has one slot", has_one_slot},
    {std::regex("store_scale\\(\\w*(slope|intercept)_number"), "a state may keep its scale for longer"},
    {std::regex("^(writer's|measured|tile's) scale 1: .*\\bM"), "the inverse's elements are near 1"},
    {std::regex("^tail kept: .*log_w_valid"), "rows past the tail meet operands that are zero there"},
    {std::regex("^middle row: "), "any row serves as anchor: it cancels"},
    {std::regex("^last chunk (dropped|full): "), "warps of the state need no number of rows", declares_for_nobody},
    {std::regex("^last chunk full: "), "other rows past the tail are zero, and stores have a number of their own",
     keeps_decays_alone},
    {std::regex("^reader's scale 1: const auto r_(level\\d_k_level\\d|k) = product_nt"),
     "the first term of a sum has its scale"},
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

// The barrier before sums over a block's slots: what was added to these last was ready when all warps met before.
bool is_before_sums(const std::string& kernel, const Mutant& mutant) {
  const std::string barrier = "\n  block.barrier();";
  const std::size_t last = kernel.rfind(barrier);
  return kernel.find("_parts_global") != kernel.npos && last != kernel.npos &&
         mutant.text == kernel.substr(0, last) + kernel.substr(last + barrier.size());
}

void expect_noticed(const ShippedProblem& problem, const std::vector<Rule>& rules, std::size_t count, Races races) {
  auto mutants = mutants_by(rules, problem.kernel().kernel);
  std::erase_if(mutants, [&](const Mutant& mutant) {
    return is_before_sums(problem.kernel().kernel, mutant) || std::ranges::any_of(kEquivalent, [&](const Reason& of) {
             return std::regex_search(mutant.name, of.names) && of.holds(problem.kernel().kernel, mutant);
           });
  });
  std::vector<std::string> names{"unchanged"}, kernels{problem.kernel().kernel};
  for (const std::size_t i : drawn(count, mutants.size(), kTakesAll)) {
    names.push_back(fmt::format("{}, number {}", mutants[i].name, i));
    kernels.push_back(mutants[i].text);
  }
  const auto outcomes = run_where_compiled(problem.kernel(), kernels, races);
  ASSERT_TRUE(outcomes[0].ran);
  EXPECT_EQ(problem.fault_of(outcomes[0].results), "");
  EXPECT_FALSE(outcomes[0].raced);
  for (std::size_t i = 1; i < outcomes.size(); ++i) {
    const bool noticed = !outcomes[i].ran || outcomes[i].raced || !problem.fault_of(outcomes[i].results).empty();
    EXPECT_TRUE(noticed) << names[i];
  }
}

TEST(ShippedText, FaultsAreNoticed) {
  const auto kernels = all_kernels();
  for (const std::size_t i : drawn(kKernels, kernels.size(), kTakesAll)) {
    SCOPED_TRACE(kernels[i].shipped.name + ": " + kernels[i].symbol);
    const ShippedProblem problem(kernels[i].shipped, kernels[i].symbol);
    expect_noticed(problem, kEdits, kEdited, Races::ignored);
    expect_noticed(problem, kDeletedSync, kDeleted, Races::reported);
  }
}

}  // namespace
}  // namespace wkvc::test
