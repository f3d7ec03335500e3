// Keys that repeat, with β up to 2 and no decay, as DeltaNets with eigenvalues of −1 have them. Nothing is forgotten,
// and each chunk multiplies the state by the same matrix.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "dsl/builtin.h"
#include "tests/backward/backward.h"
#include "tests/lower/recurrences.h"
#include "tests/run/repeated_keys.h"

namespace wkvc::test {
namespace {

constexpr LaunchSize kSize{1, 400, 2};

std::vector<Config> schedules(const std::string& mma) {
  std::vector<Config> configs(6, config_of(mma, "bf16", 64, 64));
  configs[1].saved = configs[2].saved = "f16";
  configs[1].teams = configs[1].backward_teams = 2;
  for (std::size_t i = 2; i < configs.size(); ++i) configs[i].scales = "guarded";
  configs[2].teams = configs[2].backward_teams = 4;
  configs[3].teams = configs[3].backward_teams = configs[3].rounds = 2;
  configs[3].save_every = 64;
  configs[4].teams = configs[4].rounds = configs[4].cluster = 2;
  configs[5].segments = configs[5].backward_segments = 2;
  return configs;
}

// Returns how many times the operands' bound results may be off by. Token by token in f16 the state is off by as much:
// the operands' roundings add up.
double cost_of(double beta, const std::string& mma) {
  const double of_f16 = beta <= 1 ? 2 : beta < 2 ? 3 : 9;
  return mma == "bf16" ? 4 * of_f16 : of_f16;
}

TEST_P(Backward, KeysThatRepeatWithoutDecay) {
  for (const char* mma : {"f16", "bf16"})
    for (const Config& config : schedules(mma)) {
      const Subject at = subject(rwkv7(), config);
      for (const double beta : {1.0, 1.9, 2.0})
        at.check(kSize, [&](Problem& problem) { repeat_key_for_ever(problem, beta); }, cost_of(beta, mma));
    }
}

// Returns the text of a program with one of its kernels edited: that kernel's inverses have no low terms.
std::string of_one_term(const std::string& text, const std::string& kernel) {
  const std::size_t begin = text.find("WKVC_KERNEL(" + kernel + ","), end = text.find("\n}\n", begin);
  std::string edited = text.substr(begin, end - begin);
  const std::string store = "store\\(M_lower_f16x2_shared, ";
  for (const auto& [from, to] :
       {std::pair{"(round<lower_f16x2>\\(\\w+\\)|\\w+)\\);", "round<lower_f16x2>(widen(round<f16>(widen($1)))));"},
        {"round_scaled<lower_f16x2>\\((\\w+)", "round_scaled<lower_f16x2>(widen(round_scaled<f16>($1))"}})
    edited = std::regex_replace(edited, std::regex(store + from), std::string("store(M_lower_f16x2_shared, ") + to);
  return text.substr(0, begin) + edited + text.substr(end);
}

// Each kernel that rounds or reads an inverse needs its low terms: a result is several times off without them.
TEST_P(Backward, KeysThatRepeatNeedBothTerms) {
  const std::vector<Config> configs = schedules("f16");
  for (const Config& config : {configs[1], configs[2]}) {
    const Subject at = subject(rwkv7(), config);
    if (!at.sample->holds(at.text)) continue;
    Problem problem = at.problem({1, 1008, 2});
    repeat_key_for_ever(problem, 2);
    const double allowed = cost_of(2, "f16") * bound_of(config, Role::final_state);
    const Errors whole = run_and_compare(at.program(), at.rec, problem);
    for (const auto& [kernel, result] : {std::pair{"rwkv7_forward", "final_state"}, {"rwkv7_backward", "dv"}}) {
      EXPECT_LE(whole.at(result), allowed) << at.manifest.config << ": " << result;
      const std::string edited = of_one_term(at.text, kernel);
      ASSERT_NE(edited, at.text) << kernel;
      const Errors errors = run_and_compare(Program::load(edited, at.target), at.rec, problem);
      EXPECT_GT(errors.at(result), 3 * allowed) << at.manifest.config << ": " << result;
    }
  }
}

// Gated DeltaNet with β = 1 and keys of length √2.
TEST_P(Backward, KeysThatRepeatBeforeGates) {
  for (const Config& config : schedules("f16"))
    subject(recurrence_named("gated_delta_net"), config)
        .check(
            kSize,
            [](Problem& problem) {
              auto& k = problem.values["k"];
              repeat_row(k, 2 * 64);
              for (double& x : k) x *= std::sqrt(2.0);
              for (double& log_w : problem.values["log_w"]) log_w = -0.01;
              for (double& gate : problem.values["gate"]) gate = 30;
            },
            9);
}

// Two reflections a token, as DeltaProduct has them: each is solved for with what the other one's solution leaves.
TEST_P(Backward, PairsOfKeysThatRepeat) {
  const Definition definition = recurrence("reflections", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto [r, k, a, b, c, d] = op.inputs(K, bf16, "r", "k", "a", "b", "c", "d");
    auto v = op.input("v", V, bf16);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto first = op.let("first", S + outer(dot(S, a), b));
    auto next = first + outer(dot(first, c), d) + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
  const auto repeat = [](Problem& problem) {
    for (auto [read, written] : {std::pair{"a", "b"}, {"c", "d"}}) {
      auto& keys = problem.values[written];
      repeat_row(keys, 2 * 64);
      auto& reads = problem.values[read] = keys;
      for (double& x : reads) x *= -2;
    }
    repeat_row(problem.values["k"], 2 * 64);
  };
  for (const char* mma : {"f16", "bf16"}) {
    const std::vector<Config> configs = schedules(mma);
    for (const Config& config : {configs[0], configs[1]})
      subject(definition, config).check(kSize, repeat, cost_of(2, mma));
  }
}

}  // namespace
}  // namespace wkvc::test
