// Gradients of backward kernels whose warps are teams, and behind forward kernels of teams.
#include <gtest/gtest.h>

#include <cmath>

#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/backward/backward.h"
#include "tests/backward/problems.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

// The forward kernel of teams saves states and inverses as any other.
TEST_P(Backward, AfterTeams) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = kDtypes[0];
    config.teams = 4;
    config.save_every = 32;
    subject(definition, config).check({2, 150, 2}, lower_decays);
  }
}

// A state is taken through a round of chunks by the kernel itself; the last round may be short.
TEST_P(Backward, Teams) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject by_two = subject(definition, of_teams(kDtypes[0], 2));
    for (std::int64_t tokens : {1, 15, 16, 17, 32, 33, 49, 150}) by_two.check({2, tokens, tokens < 15 ? 30 : 2});
    by_two.check({2, 37, 3}, [](Problem& problem) { problem.storage = Storage::heads_first; });
    subject(definition, of_teams(kDtypes[1], 2)).check({1, 70, 2}, lower_decays);
  }
  subject(rwkv7(), of_teams(kDtypes[0], 4)).check({1, 200, 2});
}

TEST_P(Backward, TeamsOfOtherConfigurations) {
  for (auto [K, V] : {std::pair{32, 32}, {64, 32}, {32, 64}, {48, 96}, {128, 64}})
    subject(rwkv7(), of_teams(config_of("f16", "bf16", K, V), 2)).check({1, 40, 2});
  subject(rwkv7(), of_teams(config_of("f32", "f32", 32, 32), 2)).check({1, 50, 2});
  subject(rwkv6(), of_teams(config_of("f32", "bf16", 32, 32), 2)).check({1, 50, 2}, lower_decays);
  for (const char* saved : {"f16", "bf16"}) {
    Config config = of_teams(kDtypes[0], 2);
    config.saved = saved;
    config.segments = 2;
    subject(rwkv7(), config).check({1, 140, 2}, {}, saved[0] == 'b' ? 2 : 1);
  }
}

// Where sums share scales, which follow the states' magnitudes.
TEST_P(Backward, TeamsOfHardInputs) {
  const Config config = of_teams(kDtypes[0], 2);
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition, config);
    check_magnitudes(at);
    check_without_states(at);
    for (const char* state : {"initial_state", "dfinal_state"})
      for (double factor : {1e-4, 1e4})
        at.check({1, 70, 1}, [&](Problem& problem) { scale(problem.values[state], factor); });
  }
  // What is made of a and b is no gradient of theirs.
  for (const std::vector<std::string>& small :
       {std::vector<std::string>{"a"}, {"b"}, {"a", "b"}, {"k"}, {"r"}, {"v", "k"}})
    for (double factor : {0.0, 1e-4})
      subject(rwkv7(), config).check({1, 70, 1}, [&](Problem& problem) {
        for (const std::string& name : small) scale(problem.values[name], factor);
      });
  subject(rwkv6(), config).check({1, 100, 2}, strong_decays_of_rwkv6);
  subject(rwkv7_logw(), config).check({1, 100, 2}, strong_decays_of_logarithms);
  subject(rwkv7(), config)
      .check({1, 200, 1}, [](Problem& problem) { repeat_key(problem, 1); }, cost_of_repeated_keys(config));
}

// Which values warps leave for each other depends on what is asked for, and whether they wait for a state's maximum.
TEST_P(Backward, TeamsOfSomeGradients) {
  for (const Config& operands : kOperands)
    for (const std::vector<std::string>& wanted :
         {std::vector<std::string>{"v"}, {"a"}, {"w"}, {"k", "b"}, {"u", "r"}}) {
      Config config = of_teams(operands, 2);
      config.gradients = wanted;
      config.key_dim = config.value_dim = 64;
      subject(wanted[0] == "u" ? rwkv6() : rwkv7(), config).check({1, 70, 2}, lower_decays);
    }
}

// What they are multiplied by last is kept whichever are asked for.
TEST_P(Backward, SomeGradientsOfWideHeads) {
  Config config = guarded(of_teams(kDtypes[0], 2));
  config.key_dim = 128;
  config.value_dim = 64;
  const Subject all = subject(rwkv7(), config);
  const Problem problem = all.problem({1, 37, 2});
  const auto bytes = run_raw(all.program(), problem);
  config.gradients = {"k"};
  for (const auto& [name, raw] : run_raw(subject(rwkv7(), config).program(), problem))
    EXPECT_EQ(raw, bytes.at(name)) << name;
}

// A row of a parameter over values, which both states' steps need; sums over values of what they make.
TEST_P(Backward, TeamsOfRowsOfValues) {
  const Definition gated = recurrence("gated_values", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    op.compute(f16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto u = op.parameter("u", V, f32);
    auto S = op.state("S", V, K, f32);
    auto next = S * diag(exp(cast<f32>(k) * 0.f - 0.5f)) + outer(cast<f32>(v) * sigmoid(u), cast<f32>(k));
    op.update(S, next);
    op.output("o", dot(next, r) * sigmoid(u), bf16);
  });
  for (const Config& operands : kOperands) {
    Config config = of_teams(operands, 2);
    config.key_dim = config.value_dim = 32;
    subject(gated, config).check({2, 50, 2});
  }
}

// Tiny values beside a large one, whose sign counts.
TEST_P(Backward, TeamsOfComparedInputs) {
  const Definition relus = recurrence("relus", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    op.compute(f16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto S = op.state("S", V, K, f32);
    auto next = S * 0.5f + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r) + relu(cast<f32>(v)), f32);
  });
  Config config = of_teams(kDtypes[0], 2);
  config.key_dim = config.value_dim = 32;
  subject(relus, config).check({1, 50, 2}, [](Problem& problem) {
    auto& v = problem.values["v"];
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = i % 32 == 5 ? 1 : std::abs(v[i]) * 1e-9;
  });
}

TEST_P(Backward, TeamsOfEveryRecurrence) {
  std::vector<Definition> all = recurrences();
  all.push_back(rwkv7_logw());
  int with_teams = 0;
  for (const Definition& definition : all) {
    try {
      Config config = of_teams(kDtypes[0], 2);
      config.key_dim = config.value_dim = 64;
      const Subject of_two = subject(definition, config);
      ++with_teams;
      Problem problem = random_problem(of_two.manifest, of_two.rec, {2, 37, 2}, 1);
      for (const TensorSpec& spec : of_two.manifest.tensors)  // as keys, they let states grow
        if (spec.role == Role::parameter && spec.dtype == DType::bf16) scale(problem.values.at(spec.name), 0.1);
      of_two.expect_within(problem);
    } catch (const UserError& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.find("bytes of shared memory") != what.npos || what.find("use --teams N,1") != what.npos)
          << definition.name << ": " << what;
    }
  }
  EXPECT_GE(with_teams, 18);
}

}  // namespace
}  // namespace wkvc::test
