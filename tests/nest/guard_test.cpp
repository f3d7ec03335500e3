// A guarded nest, and today's kernel with scales behind it, which does the heads that the nest refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codegen/compiler.h"
#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/nest/texts.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

constexpr std::int64_t kBatches = 2, kHeads = 2, kHead = 128;
constexpr double kBound = 1.8e-3;    // of results in bf16, whose own rounding is 1.66e-3
constexpr std::size_t kRefused = 2;  // the second batch's first head
constexpr double kInfinite = std::numeric_limits<double>::infinity();

using testing::ElementsAre;
using Refused = std::vector<bool>;

Config with_guard() {
  Config config;
  config.key_dim = config.value_dim = static_cast<int>(kHead);
  config.scales = "guarded";
  return config;
}

std::string recurrence() { return rec_text(gated_delta_net(), with_guard()); }

// Returns today's kernel with scales as a text of a stage, from the first line that names the kernel on.
std::string scaled_kernel(Stage stage, const std::string& first_line) {
  const std::string text = lower_to(source_from(recurrence()), stage, with_guard());
  const std::size_t at = text.find(first_line);
  EXPECT_NE(at, std::string::npos) << first_line;
  return text.substr(at);
}

// Returns the text of a nest and the kernel with scales.
std::string program_text(const std::string& nest = text_named("gdn_c64_forward")) {
  const std::string scaled = scaled_kernel(Stage::warp, "warp.kernel \"gated_delta_net_forward_scaled\"");
  return lower_to(source_from(nest + scaled), Stage::cuda, {});
}

class GuardedNest : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  Program program(const std::string& text = program_text()) const { return Program::load(text, GetParam()); }
};

// The head of an element of a tensor [B,T,H,…], or [B,H,…] for a state. `inner`: elements of a head, `tokens`: 1 for a
// state.
std::size_t head_of(std::size_t i, std::size_t inner, std::size_t tokens) {
  const std::size_t batch = i / inner / kHeads / tokens;
  return batch * kHeads + i / inner % kHeads;
}

std::vector<double> of_head(const std::vector<double>& x, std::size_t head, std::size_t inner, std::size_t tokens) {
  std::vector<double> part;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (head_of(i, inner, tokens) == head) part.push_back(x[i]);
  return part;
}

Problem problem_of(const Program& program, std::int64_t tokens) {
  return random_problem(program.manifest(), recurrence(), {kBatches, tokens, kHeads}, 7);
}

// Changes what one head has of an input, or of the initial state.
template <class Change>
void change(Problem& problem, const std::string& name, Change to) {
  const bool is_state = name == "initial_state";
  std::vector<double>& x = problem.values.at(name);
  const auto tokens = is_state ? 1 : static_cast<std::size_t>(problem.size.tokens);
  const std::size_t inner = x.size() / tokens / (kBatches * kHeads);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (head_of(i, inner, tokens) == kRefused) x[i] = to(x[i], i / inner / kHeads % tokens);
}

void scale(Problem& problem, const std::string& name, double factor) {
  change(problem, name, [factor](double x, std::size_t) { return x * factor; });
}

Refused refused(const TensorMap& memory) {
  const HostTensor& flags = memory.at("forward_refused");
  Refused all;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    EXPECT_TRUE(flags.get(i) == 0 || flags.get(i) == 1) << "head " << i << " says nothing";
    all.push_back(flags.get(i) != 0);
  }
  return all;
}

// Runs a program, expects results of heads near the float64 recurrence, and returns which heads were refused.
Refused run(const Program& program, const Problem& problem, const std::vector<std::size_t>& heads = {0, 1, 2, 3}) {
  const Manifest& manifest = program.manifest();
  const Values reference = reference_of(manifest, recurrence(), problem.size, rounded(manifest, problem));
  const TensorMap memory = run_in_memory(program, problem);
  for (const char* name : {"o", "final_state"}) {
    const bool is_state = name[0] == 'f';
    const auto spec = std::ranges::find(manifest.tensors, name, &TensorSpec::name);
    const std::vector<double> result = read(memory.at(name), layout_of(*spec, manifest, problem.size));
    const std::size_t inner = is_state ? kHead * kHead : kHead;
    const auto tokens = is_state ? 1 : static_cast<std::size_t>(problem.size.tokens);
    for (const std::size_t head : heads)
      EXPECT_LE(relative_error(of_head(result, head, inner, tokens), of_head(reference.at(name), head, inner, tokens)),
                kBound)
          << name << ", head " << head;
  }
  return refused(memory);
}

TEST(GuardedNestText, IsFollowedByTodaysKernel) {
  const std::string scaled = scaled_kernel(Stage::cuda, "// gated_delta_net_forward_scaled:");
  EXPECT_EQ(program_text(), lower_to(source_from(text_named("gdn_c64_forward")), Stage::cuda, {}) + "\n" + scaled);
}

TEST(GuardedNestText, IsFollowedByAKernelOfTheSameRecurrence) {
  const std::string nest = text_named("gdn_c64_forward");
  const std::string scaled = scaled_kernel(Stage::warp, "warp.kernel \"gated_delta_net_forward_scaled\"");
  const auto error = [](const std::string& text) -> std::string {
    try {
      lower_to(source_from(text), Stage::cuda, {});
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  const auto is_apart = testing::HasSubstr("a refused one without a plain one before it");
  EXPECT_THAT(error(scaled), is_apart);
  EXPECT_THAT(error(scaled + nest), is_apart);
  EXPECT_THAT(error(nest + edited(scaled, "for \"gated_delta_net\"", "for \"delta_net\"")), is_apart);
}

TEST_P(GuardedNest, RefusesNothingOrdinary) {
  const Program all = program();
  for (const std::int64_t tokens : {1, 64, 200})
    EXPECT_THAT(run(all, problem_of(all, tokens)), ElementsAre(false, false, false, false)) << "T " << tokens;
}

TEST_P(GuardedNest, RefusesHeadsThatF16DoesNotHold) {
  const Program all = program();
  for (const auto& [name, factor] : std::vector<std::pair<const char*, double>>{
           {"q", 1e8}, {"v", 1e6}, {"initial_state", 1e6}, {"q", 1e-6}, {"k", 1e-6}, {"v", 1e-6}, {"v", 0}}) {
    SCOPED_TRACE(std::string(name) + " times " + std::to_string(factor));
    Problem problem = problem_of(all, 100);
    scale(problem, name, factor);
    if (factor == 0) scale(problem, "initial_state", 1e-6);
    EXPECT_THAT(run(all, problem), ElementsAre(false, false, true, false));
  }
}

// With more tokens than one the state would grow by the square of a large key each.
TEST_P(GuardedNest, RefusesALargeKey) {
  const Program all = program();
  Problem problem = problem_of(all, 1);
  scale(problem, "k", 1e6);
  EXPECT_THAT(run(all, problem), ElementsAre(false, false, true, false));
}

// One token is too large, at the beginning, in the middle or last.
TEST_P(GuardedNest, RefusesHeadsWithATokenThatF16DoesNotHold) {
  const Program all = program();
  for (const std::size_t at : {0U, 70U, 129U})
    for (const char* name : {"q", "v"}) {
      SCOPED_TRACE(std::string(name) + " of token " + std::to_string(at));
      Problem problem = problem_of(all, 130);
      change(problem, name, [at](double x, std::size_t token) { return token == at ? 1e8 * x : x; });
      EXPECT_THAT(run(all, problem), ElementsAre(false, false, true, false));
    }
}

// Heads with NaN are left to the kernel behind, and others are right.
TEST_P(GuardedNest, RefusesWhatIsNotFinite) {
  const Program all = program();
  for (const double value : {kInfinite, -kInfinite, std::nan("")})
    for (const char* name : {"q", "k", "v", "initial_state"}) {
      SCOPED_TRACE(std::string(name) + " is " + std::to_string(value));
      Problem problem = problem_of(all, 130);
      bool first = true;
      change(problem, name, [&](double x, std::size_t token) {
        const bool here = std::exchange(first, first && !(name[0] == 'i' || token == 100));
        return here && !first ? value : x;
      });
      EXPECT_THAT(run(all, problem, {0, 1, 3}), ElementsAre(false, false, true, false));
    }
}

// A head that is refused late keeps its state for the kernel behind.
TEST_P(GuardedNest, LeavesStatesInPlace) {
  const Program all = program();
  Problem problem = problem_of(all, 130);
  change(problem, "v", [](double x, std::size_t token) { return token == 120 ? 1e8 * x : x; });
  const auto expected = run_raw(all, problem);
  problem.in_place = true;
  EXPECT_TRUE(run_raw(all, problem) == expected);
  const Program leaves = program(edited(program_text(), ", 8)) return await_stores();", ", 8)) {}"));
  EXPECT_FALSE(run_raw(leaves, problem) == expected);
}

// A guard of any role refuses the head, where nothing else sees anything.
TEST_P(GuardedNest, EveryRoleMayHaveAGuard) {
  const std::string queries = "      nest.put %read16 into", inverse = "      nest.put %T16 into";
  const std::string nest =
      edited(edited(text_named("gdn_c64_forward"), queries, "      nest.guard %read16 : !state16\n" + queries), inverse,
             "      nest.guard %T16 : !operand\n" + inverse);
  const std::string text = edited(edited(program_text(nest), "guard.see(O16);", ""), "refuses_state<16>(S, 8)",
                                  "refuses_state<16>(zeros<16, 128>(), 8)");
  for (const auto& [name, seen] : {std::pair{"q", "guard.see(read16);"}, {"k", "guard.see(T16);"}})
    for (const bool sees : {true, false}) {
      const Program all = program(sees ? text : edited(text, seen, ""));
      Problem problem = problem_of(all, 100);
      scale(problem, name, 1e8);
      EXPECT_THAT(refused(run_in_memory(all, problem)), ElementsAre(false, false, sees, false)) << seen;
    }
}

TEST_P(GuardedNest, NoPartOfTheGuardIsIdle) {
  const std::string text = program_text();
  const auto flag = [&](const std::string& source, const char* name, double factor) -> bool {
    const Program all = program(source);
    Problem problem = problem_of(all, 100);
    scale(problem, name, factor);
    return refused(run_in_memory(all, problem))[kRefused];
  };
  const auto sample = [](const char* name) {
    return std::string("largest_of_sample<bf16, 128>(") + name + "_global, block, 0, tokens)";
  };
  for (const auto& [part, with, name, factor] :
       std::vector<std::tuple<std::string, std::string, const char*, double>>{{sample("q"), "1.f", "q", 1e-6},
                                                                              {sample("k"), "1.f", "k", 1e-6},
                                                                              {sample("v"), "1.f", "v", 1e-6},
                                                                              {"guard.see(O16);", "", "q", 1e8}}) {
    EXPECT_TRUE(flag(text, name, factor)) << part;
    EXPECT_FALSE(flag(edited(text, part, with), name, factor)) << part;
  }
}

INSTANTIATE_TEST_SUITE_P(Host, GuardedNest, testing::Values(Target::host));
INSTANTIATE_TEST_SUITE_P(Cuda, GuardedNest, testing::Values(Target::cuda));

}  // namespace
}  // namespace wkvc::test
