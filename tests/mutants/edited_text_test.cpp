// Whatever is wrong in a kernel's text shows in its results.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "dsl/builtin.h"
#include "tests/mutants/batch.h"
#include "tests/mutants/edits.h"
#include "tests/run/sample.h"

namespace wkvc::test {
namespace {

constexpr std::size_t kEdited = 64;  // mutants of a kernel, each run

// Mutants that compute the same, and why.
using Reasons = std::map<std::string, std::string>;

const Reasons kEquivalent = {
    {"another batch: const auto u = load_parameter_row<bf16, 16>(u_global, block, column);",
     "parameters are the same for every batch"},
    {"middle row: const auto L_middle = zero_if_nan(row<7>(L));", "any row serves as anchor: it cancels"},
    {"measured scale 1: store(M_lower_f16x2_shared, round_scaled<lower_f16x2>(M));",
     "the inverse's elements are near 1"},
};

const char* const kOneStage = "the ring has one slot";

const Reasons kEquivalentRwkv7Backward = {
    {"next chunk's slot: const auto r_raw = r_ring[c];", kOneStage},
    {"next chunk's slot: const auto k_raw = k_ring[c];", kOneStage},
    {"next chunk's slot: const auto a_raw = a_ring[c];", kOneStage},
    {"next chunk's slot: const auto b_raw = b_ring[c];", kOneStage},
    {"next chunk's slot: const auto v_raw = v_ring[c];", kOneStage},
    {"next chunk's slot: const auto do_raw = do_ring[c];", kOneStage},
    {"next chunk's slot: const auto saved_M_raw = saved_M_ring[c];", kOneStage},
    {"read past the tail: if (chunks - 1 >= 0) copies_2.copy(args, block, chunks - 1);",
     "decays past the tail count as none, and dw is not stored there"},
    {"read past the tail: if (chunks - 1 >= 0) copies_3.copy(args, block, chunks - 1);",
     "what rows of the inverse past the tail make meets b, which is zero there"},
    {"tail kept: const auto log_w_valid = keep_rows(log2_w, valid); #2",
     "a is zero past the tail, and rows there are not stored"},
    {"tile's scale 1: const float saved_M_scale = scale_for(*saved_M_max * 0.0078125f);",
     "the inverse's elements are near 1"},
};

const Reasons kEquivalentRwkv6Backward = {
    {"next chunk's slot: const auto v_raw = v_ring[c];", kOneStage},
    {"next chunk's slot: const auto do_raw = do_ring[c];", kOneStage},
    {"tail kept: const auto dlog_w = keep_rows(dS_dots_S_e_last_row + dk_out_exp2_L_behind_k_behind8_part + "
     "dk_level8_e_level8_k_part_3 + dk_level4_e_level4_k_part_3 + "
     "sum_of_other_half<1>(lower_rows<1>(lower_rows<2>(dk_level2_e_level2_k_part) + "
     "dk_level4_e_level4_k_part_2) + upper_rows<1>(upper_rows<2>(dk_level2_e_level2_k_part) + "
     "dk_level4_e_level4_k_part_upper4_part + dk_level4_e_level4_k_part_3)), valid);",
     "rows past the tail are not stored"},
    {"another batch: const auto u = load_parameter_row<bf16, 16>(u_global, block, column);",
     "parameters are the same for every batch"},
    {"another batch: const auto u = load_parameter_row<bf16, 16>(u_global, block, column); #2",
     "parameters are the same for every batch"},
    {"another batch: store_parameter_row<f32>(du_parts_global, block, column, load_row<16>(du_sum + column));",
     "batches are summed"},
};

// The outcome of every kernel, a process for each batch, as many at a time as there are processors.
std::vector<Outcome> run_all(const MutantProblem& problem, const std::vector<std::string>& kernels) {
  constexpr std::size_t kBatch = 64;
  std::vector<Outcome> outcomes(kernels.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t first = next.fetch_add(kBatch); first < kernels.size(); first = next.fetch_add(kBatch)) {
      const std::size_t last = std::min(first + kBatch, kernels.size());
      auto batch = run_batch(problem, {&kernels[first], &kernels[last]}, Races::ignored);
      std::move(batch.begin(), batch.end(), outcomes.begin() + static_cast<std::ptrdiff_t>(first));
    }
  };
  std::vector<std::future<void>> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    workers.push_back(std::async(std::launch::async, work));
  for (auto& worker : workers) worker.get();
  return outcomes;
}

void expect_all_wrong(const MutantProblem& problem, const Reasons& equivalent) {
  const auto mutants = mutants_by(kEdits, problem.kernel);
  std::vector<std::string> kernels{problem.kernel};
  const auto numbers = drawn(kEdited, mutants.size());
  for (const std::size_t i : numbers) kernels.push_back(mutants[i].text);
  const auto outcomes = run_all(problem, kernels);
  EXPECT_EQ(fault_of(problem, outcomes[0].results), "");
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::string& name = mutants[numbers[n]].name;
    EXPECT_EQ(fault_of(problem, outcomes[n + 1].results).empty(), equivalent.contains(name)) << name;
  }
}

TEST(EditedText, Rwkv7) { expect_all_wrong(mutant_problem(rwkv7(), {}), kEquivalent); }
TEST(EditedText, Rwkv6) { expect_all_wrong(mutant_problem(rwkv6(), {}), kEquivalent); }
TEST(EditedText, Rwkv7Backward) { expect_all_wrong(backward_problem(rwkv7(), {}), kEquivalentRwkv7Backward); }
TEST(EditedText, Rwkv6Backward) { expect_all_wrong(backward_problem(rwkv6(), {}), kEquivalentRwkv6Backward); }

void expect_known(const std::string& kernels, const Reasons& equivalent) {
  std::set<std::string> names;
  for (const Mutant& mutant : mutants_by(kEdits, kernels)) names.insert(mutant.name);
  for (const auto& [name, reason] : equivalent) EXPECT_TRUE(names.contains(name)) << name << ": " << reason;
}

// No rule and no exception outlives the text it was written for.
TEST(EditedText, EverythingListedMatches) {
  const std::string forward = mutant_problem(rwkv7(), {}).kernel + mutant_problem(rwkv6(), {}).kernel;
  const std::string backward = backward_problem(rwkv7(), {}).kernel + backward_problem(rwkv6(), {}).kernel;
  for (const Rule& rule : kEdits) EXPECT_FALSE(mutants_by(rule, forward + backward).empty()) << rule.name;
  expect_known(forward, kEquivalent);
  expect_known(backward, kEquivalentRwkv7Backward);
  expect_known(backward, kEquivalentRwkv6Backward);
}

}  // namespace
}  // namespace wkvc::test
