// Forward kernels of teams: in the warps of value rows, in warps of their own a round ahead, and in clusters.
#include <gtest/gtest.h>

#include <algorithm>

#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/forward/forward.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

// Teams of two warps and of one, with fewer chunks than a round has and with rounds that are not full.
TEST_P(Forward, Teams) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    for (Config config : {kDtypes[0], kDtypes[1], kDtypes[2]}) {
      for (const int teams : {2, 4}) {
        config.teams = teams;
        config.key_dim = config.value_dim = config.mma == "f32" ? 32 * teams / 2 : 64;
        config.segments = config.mma == "bf16" ? 3 : 0;
        for (std::int64_t tokens : {1, 17, 63, 150}) check(definition, config, {2, tokens, 2});
      }
    }
  }
  Config odd = config_of("f16", "bf16", 48, 80);
  odd.teams = 5;
  check(rwkv7(), odd, {1, 150, 2});
  Config wide = config_of("f16", "bf16", 128, 64);  // slabs of 64 columns for each of the two warps of a team
  wide.teams = 2;
  for (const Definition& definition : {rwkv7(), rwkv6()}) check(definition, wide, {1, 100, 2});
}

// What is added to the state behind teams: operands with a scale, without one, and in f32.
TEST_P(Forward, TeamsOfOtherRecurrences) {
  const auto adding = [](std::function<Expr(Expr, Expr)> row) {
    return recurrence("adding", [row](Recurrence& op) {
      Dim K = op.key_dim(32), V = op.value_dim(32);
      op.compute(f16);
      auto [r, k] = op.inputs(K, f32, "r", "k");
      auto v = op.input("v", V, f32), g = op.input("g", scalar, f32);
      auto S = op.state("S", V, K, f32);
      auto next = S * diag(exp(k * 0.f - 0.5f)) + outer(row(v, g), k);
      op.update(S, next);
      op.output("o", dot(next, r), f32);
    });
  };
  Config config = config_of("f16", "f32");
  for (config.teams = 1; config.teams <= 2; ++config.teams) {
    check(adding([](Expr v, Expr) { return v; }), config, {1, 70, 2});
    check(adding([](Expr v, Expr) { return sigmoid(v); }), config, {1, 70, 2});
    check(adding([](Expr v, Expr g) { return g * v; }), config, {1, 70, 2});
  }
}

// Contractions by groups of warps that are one call, the first sum of which is read by itself, too.
TEST_P(Forward, GroupsWhoseSumsAreShared) {
  const Definition sums = recurrence("sums", [](Recurrence& op) {
    Dim K = op.key_dim(128), V = op.value_dim(64);
    op.compute(f16);
    auto [r, w, k, a] = op.inputs(K, bf16, "r", "w", "k", "a");
    auto v = op.input("v", V, bf16);
    auto S = op.state("S", V, K, f32);
    op.update(S, S * diag(exp(sigmoid(cast<f32>(w)) * -0.6f)) + outer(v, k));
    auto p = dot(S, k);
    op.output("pa", p + dot(S, a), bf16);
    op.output("p", p, bf16);
    op.output("pr", p + dot(S, r), bf16);
  });
  Config config = config_of("f16", "bf16");
  config.key_dim = config.value_dim = 0;
  config.scales = "guarded";
  config.teams = 2;
  for (config.rounds = 1; config.rounds <= 2; ++config.rounds) check(sums, config, {1, 70, 2});
}

// Teams of warps of their own, a round ahead: with fewer chunks than a round has, one round, and more than they keep.
TEST_P(Forward, RoundsAhead) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    for (Config config : {kDtypes[0], kDtypes[1], kDtypes[2]}) {
      config.rounds = 2;
      config.teams = config.mma == "f16" ? 4 : 2;
      config.key_dim = config.value_dim = config.mma == "f32" ? 32 : 64;
      config.segments = config.mma == "bf16" ? 3 : 0;
      for (std::int64_t tokens : {1, 17, 63, 290}) check(definition, config, {2, tokens, 2});
    }
  }
  Config odd = config_of("f16", "bf16", 48, 80);
  odd.teams = 3;
  odd.rounds = 2;
  check(rwkv7(), odd, {1, 150, 2});
  Config wide = config_of("f16", "bf16", 128, 64);
  wide.teams = wide.rounds = 2;
  check(rwkv7(), wide, {1, 100, 2});
  Config late = config_of("f32", "f32", 32, 32);  // nothing is copied early
  late.teams = late.rounds = 2;
  check(rwkv7_logw(), late, {1, 50, 2});
}

// A single team ahead: a round is a chunk, or one of each block of a cluster.
TEST_P(Forward, OneTeamAhead) {
  for (Config config : {kDtypes[0], kDtypes[1], kDtypes[2]}) {
    config.rounds = 2;
    if (config.mma == "f32") config.key_dim = config.value_dim = 32;
    for (const int cluster : {1, 2}) {
      config.cluster = cluster;
      for (const char* scales : {"always", "guarded"}) {
        config.scales = scales;
        for (const std::int64_t tokens : {1, 17, 130}) check(rwkv7(), config, {2, tokens, 2});
      }
    }
  }
  Config four = config_of("f16", "bf16", 32, 64);
  four.rounds = 2;
  four.cluster = 4;
  check(rwkv6(), four, {1, 150, 2});
}

// The rows of a wide state and of a segment's map are dealt to the blocks of a cluster.
TEST_P(Forward, SummariesOfWideHeads) {
  Config config = config_of("f16", "bf16", 96, 96);
  config.teams = config.rounds = config.segments = 2;
  config.scales = "guarded";
  EXPECT_NE(cuda_text(rwkv7(), config).find("rwkv7_forward_summary, 7, 12, 1, 2)"), std::string::npos);
  check(rwkv7(), config, {1, 100, 2});
}

// Blocks that share a head's rows, and what their teams prepare.
TEST_P(Forward, Clusters) {
  Config config = config_of("f16", "bf16", 64, 64);
  config.teams = config.rounds = config.cluster = 2;
  for (const Definition& definition : {rwkv7(), rwkv6()})
    for (std::int64_t tokens : {1, 63, 65, 290}) check(definition, config, {2, tokens, 2});
  config.segments = 2;  // of which the summary has a map's rows, too
  check(rwkv7(), config, {1, 290, 2});
  check(rwkv6(), config, {1, 290, 2});
  Config odd = config_of("bf16", "bf16", 48, 64);
  odd.teams = 3;
  odd.rounds = 2;
  odd.cluster = 4;
  check(rwkv6(), odd, {1, 350, 1});
}

// Behind teams as exact as without; or teams say what crosses.
TEST_P(Forward, TeamsOfEveryRecurrence) {
  std::vector<Definition> all = recurrences();
  all.push_back(rwkv7_logw());
  int with_teams = 0;
  for (const Definition& definition : all) {
    const auto text_of = [&](int teams, int rounds, int segments) {
      Config config = config_of("f16", "bf16", 64, 64);
      config.teams = teams;
      config.rounds = rounds;
      config.segments = segments;
      return cuda_text(definition, config);
    };
    const auto errors_of = [&](const std::string& text) {
      const Program program = Program::load(text, GetParam());
      const Problem problem = random_problem(program.manifest(), {1, 150, 2}, 5);
      return run_and_compare(program, rec_text(definition, config_of("f16", "bf16", 64, 64)), problem);
    };
    try {
      const std::string behind_teams = text_of(2, 1, 1), a_round_ahead = text_of(2, 2, 2);
      ++with_teams;
      if (!sample_.holds(behind_teams)) continue;
      const Errors errors = errors_of(behind_teams), ahead = errors_of(a_round_ahead),
                   alone = errors_of(text_of(1, 1, 1));
      for (const auto& [name, error] : errors)
        for (const double behind : {error, ahead.at(name)})
          EXPECT_LE(behind, 1.2 * std::max(alone.at(name), 1.8e-3)) << definition.name << ": " << name;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("teams"), std::string::npos) << error.what();
    }
  }
  EXPECT_GE(with_teams, 10);
}

// Sums that carry a scale, before what takes none of them; two scales of one input.
TEST_P(Forward, TeamsOfWhatTakesTheScaleOff) {
  const auto reading = [](std::function<void(Recurrence&, Expr, Expr, Expr, Expr)> outputs) {
    return recurrence("reading", [outputs](Recurrence& op) {
      Dim K = op.key_dim(64), V = op.value_dim(64);
      op.compute(f16);
      auto [r, k] = op.inputs(K, bf16, "r", "k");
      auto [v, g] = op.inputs(V, bf16, "v", "g");
      auto S = op.state("S", V, K, f32);
      auto next = S * diag(exp(cast<f32>(k) * 0.f - 0.5f)) + outer(v, k);
      op.update(S, next);
      outputs(op, next, r, v, g);
    });
  };
  Config config = config_of("f16", "bf16");
  config.teams = 2;
  const auto one = [&](std::function<Expr(Expr, Expr, Expr)> o) {
    check(reading(
              [o](Recurrence& op, Expr next, Expr r, Expr v, Expr g) { op.output("o", o(dot(next, r), v, g), bf16); }),
          config, {1, 70, 2});
  };
  one([](Expr o, Expr, Expr g) { return sigmoid(cast<f32>(g)) * o; });
  one([](Expr o, Expr, Expr) { return 0.125f * o; });
  one([](Expr o, Expr, Expr g) { return o * cast<f32>(g) + o * 0.5f; });
  one([](Expr o, Expr v, Expr) { return o * cast<f32>(v); });
}

}  // namespace
}  // namespace wkvc::test
