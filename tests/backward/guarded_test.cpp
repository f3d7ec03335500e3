// Gradients of kernels without scales, and of the kernels behind them, which take what plain kernels refuse.
#include <gtest/gtest.h>

#include <algorithm>

#include "dsl/builtin.h"
#include "tests/backward/backward.h"
#include "tests/backward/problems.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

// Without scales where f16 needs none, as with them elsewhere.
TEST_P(Backward, Guarded) {
  for (const Definition& definition : {rwkv7(), rwkv6()})
    for (int teams : {1, 2}) {
      const Subject at = subject(definition, guarded(of_teams(kDtypes[0], teams)));
      for (std::int64_t tokens : {1, 17, 150}) at.check({2, tokens, tokens < 15 ? 30 : 2});
      check_magnitudes(at);
      check_without_states(at);
      for (const char* state : {"initial_state", "dfinal_state"})
        for (double factor : {1e-4, 1e6})
          at.check({1, 70, 1}, [&](Problem& problem) { scale(problem.values[state], factor); });
    }
  for (const Config& config : kDtypes) subject(rwkv7(), guarded(config)).check({2, 50, 2}, lower_decays);
}

// Of two rounds one has a saved state, which goes through it a second time before the other.
TEST_P(Backward, GuardedAgain) {
  Config config = guarded(of_teams(kDtypes[0], 2));
  config.save_every = 64;
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition, config);
    for (std::int64_t tokens : {1, 17, 33, 49, 64, 65, 81, 97, 150}) at.check({2, tokens, tokens < 15 ? 30 : 2});
    at.check({1, 100, 1}, [](Problem& problem) { scale(problem.values["v"], 1e-5); });  // refused
  }
  for (const char* saved : {"f16", "bf16"}) {
    config.saved = saved;
    config.segments = 2;
    subject(rwkv7(), config).check({1, 300, 2}, {}, saved[0] == 'b' ? 2 : 1);
  }
  Config wide = guarded(of_teams(config_of("f16", "bf16", 128, 128), 2));
  wide.save_every = 64;
  wide.saved = "f16";
  subject(rwkv7(), wide).check({1, 130, 1});
  const Change as_layers_give = [](Problem& problem) {  // keys of length 1
    scale(problem.values.at("k"), 1 / std::sqrt(128));
    for (double& log_decay : problem.values.at("log_w")) log_decay = -std::abs(log_decay);
  };
  for (int every : {32, 64}) {  // copies start as soon as teams have read
    wide.save_every = every;
    subject(recurrence_named("gated_delta_net"), wide).check({1, 130, 1}, as_layers_give);
  }
}

// Saved states are beyond f16's range, from the first one on or later.
TEST_P(Backward, SavesStatesOfAnySizeInF16) {
  for (const Definition& definition : {rwkv7(), rwkv6()})
    for (const char* scales : {"always", "guarded"})
      for (int teams : {1, 2}) {
        Config config = of_teams(kDtypes[0], teams);
        config.scales = scales;
        config.saved = "f16";
        if (teams == 2) config.segments = 2;
        const Subject at = subject(definition, config);
        at.check({1, 150, 2}, [](Problem& problem) { scale(problem.values["initial_state"], 1e6); });
        at.check({1, 150, 2}, [](Problem& problem) { scale(problem.values["v"], 1e5); });
        at.check({1, 150, 2}, [](Problem& problem) {
          for (const char* name : {"initial_state", "v"}) scale(problem.values[name], 1e-8);
        });
        at.check({1, 150, 2}, [](Problem& problem) {  // what decays leave of a state f16 holds
          scale(problem.values["initial_state"], 5e4);
          for (double& w : problem.values["w"]) w = -1.3984375;
        });
      }
}

// Decays that plain programs do not factor, from the first token on and later.
TEST_P(Backward, GuardedDecays) {
  for (int teams : {1, 2}) {
    const Config config = guarded(of_teams(kDtypes[0], teams));
    subject(rwkv6(), config).check({1, 100, 2}, strong_decays_of_rwkv6);
    subject(rwkv7_logw(), config).check({1, 100, 2}, strong_decays_of_logarithms);
    subject(rwkv6(), config).check({1, 150, 2}, [](Problem& problem) {
      auto& w = problem.values["w"];
      for (std::size_t i = 0; i < w.size(); ++i) w[i] = i > w.size() / 2 && i % 7 == 0 ? 1 : std::min(w[i], -1.);
    });
  }
}

// f32 gradients in strips, teams of one warp.
TEST_P(Backward, GuardedConfigurations) {
  subject(rwkv7(), guarded(of_teams(config_of("f16", "bf16", 32, 32), 2))).check({1, 70, 2});
  for (const Definition& definition : {rwkv7(), rwkv6()})
    subject(definition, guarded(of_teams(config_of("f16", "f32", 64, 64), 2))).check({1, 70, 2});
}

// Small keys and values under strong decays, which a product of both may not survive.
TEST_P(Backward, GuardedSmallInputs) {
  const Subject at = subject(rwkv7(), guarded(kDtypes[0]));
  for (double factor : {0.3, 0.1, 0.03, 0.01})
    at.check({1, 70, 2}, [&](Problem& problem) {
      for (const char* name : {"r", "k", "v"}) scale(problem.values[name], factor);
      for (double& w : problem.values["w"]) w += 6;
    });
}

TEST_P(Backward, GuardedSegments) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = guarded(of_teams(kDtypes[0], 2));
    config.segments = 2;
    config.backward_segments = 3;
    const Subject at = subject(definition, config);
    at.check({1, 170, 2}, lower_decays);
    for (const char* name : {"do", "v"})
      at.check({1, 170, 2}, [&](Problem& problem) { scale(problem.values[name], 1e-5); });
  }
}

// Gradients are refused by themselves: their size alone does not matter.
TEST_P(Backward, GuardedUnits) {
  if (GetParam() == Target::cuda) return;  // internals are read where they lie
  const Subject at = subject(rwkv7(), guarded(of_teams(kDtypes[0], 2)));
  const auto refused = [&](const char* name, const Change& change) {
    Problem problem = at.problem({1, 70, 1});
    change(problem);
    return run_in_memory(at.program(), problem).at(name).get(0) != 0;
  };
  for (double factor : {1e-12, 1e-6, 1., 1e6}) {
    const Change both = [&](Problem& problem) {
      for (const char* name : {"do", "dfinal_state"}) scale(problem.values[name], factor);
    };
    EXPECT_FALSE(refused("backward_refused", both)) << factor;
    EXPECT_FALSE(refused("forward_refused", both)) << factor;
  }
  const Change apart = [](Problem& problem) { scale(problem.values["do"], 1e-6); };
  EXPECT_TRUE(refused("backward_refused", apart));
  EXPECT_FALSE(refused("forward_refused", apart));
}

// Decays of one number a token have no range to keep to: ordinary data refuse no block, however steep these are.
TEST_P(Backward, GuardedDecaysOfTokens) {
  if (GetParam() == Target::cuda) return;  // internals are read where they lie
  for (int teams : {1, 2}) {
    Config config = guarded(of_teams(kDtypes[0], teams));
    config.key_dim = config.value_dim = 64;
    const Subject at = subject(recurrence_named("gated_delta_net"), config);
    for (double log_decay : {-0.1, -5., -20., -30.}) {
      Problem problem = random_problem(at.manifest, at.rec, {1, 70, 1}, 3);
      std::ranges::fill(problem.values.at("log_w"), log_decay);
      const TensorMap memory = run_in_memory(at.program(), problem);
      for (const char* name : {"forward_refused", "backward_refused"})
        EXPECT_EQ(memory.at(name).get(0), 0) << at.manifest.config << ", " << name << ", log decays " << log_decay;
    }
  }
}

// Nor have those of a channel that keep to a range which f32 holds.
TEST_P(Backward, GuardedDecaysInARange) {
  if (GetParam() == Target::cuda) return;  // internals are read where they lie
  const Subject at = subject(channel_gate(), guarded(kDtypes[0]));
  for (double log_decay : {-0.1, -5.}) {
    Problem problem = random_problem(at.manifest, at.rec, {1, 70, 1}, 3);
    std::ranges::fill(problem.values.at("log_w"), log_decay);
    const TensorMap memory = run_in_memory(at.program(), problem);
    for (const char* name : {"forward_refused", "backward_refused"})
      EXPECT_EQ(memory.at(name).get(0), 0) << name << ", log decays " << log_decay;
  }
}

// A range a little wider than f16's factors is no reason to refuse a block, but decays that fill it are. The kernel of
// wide heads that runs such a block again copies nothing ahead.
TEST_P(Backward, GuardedGentleDecays) {
  Config config = guarded(config_of("f16", "bf16", 128, 128));
  config.saved = "f16";
  const Subject at = subject(recurrence_named("gentle_decays"), config);
  for (const bool steepest : {false, true}) {
    Problem problem = at.problem({1, 70, 1});
    scale(problem.values.at("k"), 1 / std::sqrt(128));  // keys of length 1
    std::ranges::fill(problem.values.at("log_w"), steepest ? -1 : -0.8);
    at.expect_within(problem);
    if (GetParam() == Target::cuda) continue;  // internals are read where they lie
    const TensorMap memory = run_in_memory(at.program(), problem);
    for (const char* name : {"forward_refused", "backward_refused"})
      EXPECT_EQ(memory.at(name).get(0) != 0, steepest) << name;
  }
}

}  // namespace
}  // namespace wkvc::test
