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

namespace wkvc::test {
namespace {

std::string elsewhere(const std::string& change) {
  return "$1[&] { Block other = block; " + change + "; return other; }()$2";
}

const std::vector<Rule> kRules = {
    {"call dropped", R"(\n +(?!maximum|copied|output)\w[\w.]*(<[^()\n]*>)?\([^\n]*\);(?=\n))", ""},
    {"state not updated", R"(\n +\w+ = \w+;)", ""},
    {"state of zeros", R"((auto \w+ = \w+_initial);)", "$1 * 0.f;"},
    {"copies dropped", R"(\n +if \([^\n]*\) (copy_\w+|copies\w*\.copy)\([^\n]*\);)", ""},
    {"long call dropped", R"(\n +[\w.]+(<\d>)?\([^\n;]*,(\n {6,}[^\n]*)+\);)", ""},
    {"argument dropped", R"(\n {6,}(maximum|copied|output\w*<\w+>)\([^\n]*,(?=\n))", ""},
    {"output of zeros", R"((output\w*<\w+>\(\w+, \w+, )([^\n]*)(\)(,|\);)\n))", "$1($2) * 0.f$3"},
    {"final state of zeros", R"(store_state\((\w+),)", "store_state($1 * 0.f,"},
    {"another head", R"((_global, )block([,)]))", elsewhere("other.head = (block.head + 1) % args.heads")},
    {"another batch", R"((_global, )block([,)]))",
     elsewhere("other.batch = other.token_batch = (block.batch + 1) % args.batches")},
    {"first warp's rows", R"(\brow0\b(?! =))", "0"},
    {"first columns", R"(\bcolumn(_\d+)?\b(?=\)|,|;))", "0"},
    {"no such warp", R"(block\.warp == \d)", "block.warp == 4"},
    {"last chunk dropped", R"(= valid_rows<16>\(tokens_of\(args, block\), c\))", "= c + 1 < chunks ? 16 : 0"},
    {"last chunk full", R"(= valid_rows<16>\(tokens_of\(args, block\), c\))", "= 16"},
    {"chunks rounded down", R"(chunk_count<16>\(tokens_of\(args, block\)\))",
     "static_cast<int>(tokens_of(args, block) / 16)"},
    {"first chunk dropped", "c = 0;", "c = 1;"},
    {"chunk 0 dropped", "c >= 0;", "c > 0;"},
    {"last chunk not visited", "c = chunks - 1;", "c = chunks - 2;"},
    {"stale copied state", R"(\(c - 1\) \+ row0)", "c + row0"},
    {"read past the tail", R"(\.copy\(args, block(, (c \+ \d|chunks - 1)))",
     ".copy(args, [&] { auto other = block; other.tokens += 16; return other; }()$1"},
    {"inputs of another head", R"((take<\d>\(args, )block(,))",
     elsewhere("other.head = (block.head + 1) % args.heads")},
    {"inputs of another batch", R"((take<\d>\(args, )block(,))",
     elsewhere("other.batch = other.token_batch = (block.batch + 1) % args.batches")},
    {"copied by no warp", R"(copied\(\d)", "copied(4"},
    {"another tensor's maximum", R"((copied\(\d, \w+, \w+), \w+\))", "$1)"},
    {"next chunk's place", R"(args, c, valid)", "args, c + 1, valid"},
    {"next chunk's slot", R"(_ring\[c\])", "_ring[c + 1]"},
    {"tail kept", R"(keep_rows\((.*), valid\))", "$1"},
    {"made inclusive", R"(\btril_strict\()", "tril("},
    {"made strict", R"(\btril\()", "tril_strict("},
    {"another level", "level_pairs<8>", "level_pairs<4>"},
    {"another middle", "last_of_other_half<8>", "last_of_other_half<4>"},
    {"gradient of another middle", "sum_of_other_half<8>", "sum_of_other_half<4>"},
    {"halves of another level", "select_halves<8>", "select_halves<4>"},
    {"the other halves", "upper_rows<", "lower_rows<"},
    {"last row", "row<15>", "row<14>"},
    {"middle row", "row<7>", "row<6>"},
    {"middle row in one place", R"(\bL_middle\b(?! =))", "row<6>(L)"},
    {"decay of its own token", R"(\bL_before\b(?! =| \+ log_w_valid))", "L"},
    {"decay upside down", R"((exp2?)\((\w+) - (\w+)\))", "$1($3 - $2)"},
    {"decay dropped", R"( \* e_\w+;)", ";"},
    {"term dropped", R"( [+-] (t_\d+|d\w+|sum_rows\(\w+\))(?=[ ;),]))", ""},
    {"factor left out", R"((auto \w+ = \w+) \* \w+;)", "$1;"},
    {"factor dropped", R"( \* exp2?\(.*\);)", ";"},
    {"tile's scale 1", R"(= scale_for\(.*\);)", "= 1.f;"},
    {"measured scale 1", R"((round_scaled<f16>\(\w+( \+ \w+\([^)]*\))?)\))", "$1, 1.f)"},
    {"writer's scale 1", R"(\w+_scale\)\.data)", "1.f).data"},
    {"reader's scale 1", R"((\bscaled\(\w+(\.cols<16>\(\w+\))?), \w+\))", "$1, 1.f)"},
};

// Mutants that compute the same, and why.
using Reasons = std::map<std::string, std::string>;

const Reasons kEquivalent = {
    {"another batch: const auto u = load_parameter_row<bf16, 16>(u_global, block, column);",
     "parameters are the same for every batch"},
    {"middle row: const auto L_middle = row<7>(L);", "any row serves as anchor: it cancels"},
    {"measured scale 1: store(M_f16_shared, round_scaled<f16>(M));", "the inverse's elements are near 1"},
};

const char* const kOneStage = "the ring has one slot";

const Reasons kEquivalentRwkv7Backward = {
    {"next chunk's slot: const auto r_raw = r_ring[c];", kOneStage},
    {"next chunk's slot: const auto w_raw = w_ring[c];", kOneStage},
    {"next chunk's slot: const auto k_raw = k_ring[c];", kOneStage},
    {"next chunk's slot: const auto a_raw = a_ring[c];", kOneStage},
    {"next chunk's slot: const auto b_raw = b_ring[c];", kOneStage},
    {"next chunk's slot: const auto v_raw = v_ring[c];", kOneStage},
    {"next chunk's slot: const auto do_raw = do_ring[c];", kOneStage},
    {"next chunk's slot: const auto saved_M_raw = saved_M_ring[c];", kOneStage},
    {"read past the tail: if (chunks - 1 >= 0) copies_2.copy(args, block, chunks - 1);",
     "what rows of the inverse past the tail make meets b, which is zero there"},
    {"tail kept: const auto log_w_valid_2 = keep_rows(log2_w_2, valid);",
     "a is zero past the tail, and rows there are not stored"},
    {"tile's scale 1: const float saved_M_scale = scale_for(*saved_M_max * 0.0078125f);",
     "the inverse's elements are near 1"},
};

const Reasons kEquivalentRwkv6Backward = {
    {"next chunk's slot: const auto v_raw = v_ring[c];", kOneStage},
    {"next chunk's slot: const auto do_raw = do_ring[c];", kOneStage},
    {"tail kept: const auto dlog_w = keep_rows(t_60 + t_63 + t_66 + t_68 + "
     "sum_of_other_half<1>(lower_rows<1>(lower_rows<2>(t_51) + t_65) + upper_rows<1>(upper_rows<2>(t_51) + t_67 + "
     "t_68)), valid);",
     "rows past the tail are not stored"},
    {"another batch: const auto u = load_parameter_row<bf16, 16>(u_global, block, column_2);",
     "parameters are the same for every batch"},
    {"another batch: const auto u_2 = load_parameter_row<bf16, 16>(u_global, block, column_4);",
     "parameters are the same for every batch"},
    {"another batch: store_parameter_row<f32>(du_parts_global, block, column_5, load_row<16>(du_sum + column_5));",
     "batches are summed"},
};

std::vector<Mutant> mutants_of(const std::string& kernel) {
  std::vector<Mutant> all;
  for (const Rule& rule : kRules)
    for (Mutant& mutant : mutants_by(rule, kernel)) all.push_back(std::move(mutant));
  return all;
}

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
  const auto mutants = mutants_of(problem.kernel);
  std::vector<std::string> kernels{problem.kernel};
  for (const Mutant& mutant : mutants) kernels.push_back(mutant.text);
  const auto outcomes = run_all(problem, kernels);
  EXPECT_EQ(fault_of(problem, outcomes[0].results), "");
  for (std::size_t i = 0; i < mutants.size(); ++i)
    EXPECT_EQ(fault_of(problem, outcomes[i + 1].results).empty(), equivalent.contains(mutants[i].name))
        << mutants[i].name;
}

TEST(EditedText, Rwkv7) { expect_all_wrong(mutant_problem(rwkv7(), {}), kEquivalent); }
TEST(EditedText, Rwkv6) { expect_all_wrong(mutant_problem(rwkv6(), {}), kEquivalent); }
TEST(EditedText, Rwkv7Backward) { expect_all_wrong(backward_problem(rwkv7(), {}), kEquivalentRwkv7Backward); }
TEST(EditedText, Rwkv6Backward) { expect_all_wrong(backward_problem(rwkv6(), {}), kEquivalentRwkv6Backward); }

void expect_known(const std::string& kernels, const Reasons& equivalent) {
  std::set<std::string> names;
  for (const Mutant& mutant : mutants_of(kernels)) names.insert(mutant.name);
  for (const auto& [name, reason] : equivalent) EXPECT_TRUE(names.contains(name)) << name << ": " << reason;
}

// No rule and no exception outlives the text it was written for.
TEST(EditedText, EverythingListedMatches) {
  const std::string forward = mutant_problem(rwkv7(), {}).kernel + mutant_problem(rwkv6(), {}).kernel;
  const std::string backward = backward_problem(rwkv7(), {}).kernel + backward_problem(rwkv6(), {}).kernel;
  for (const Rule& rule : kRules) EXPECT_FALSE(mutants_by(rule, forward + backward).empty()) << rule.name;
  expect_known(forward, kEquivalent);
  expect_known(backward, kEquivalentRwkv7Backward);
  expect_known(backward, kEquivalentRwkv6Backward);
}

}  // namespace
}  // namespace wkvc::test
