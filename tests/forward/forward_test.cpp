// The emitted forward kernels against the float64 recurrence, on the host target and, where there is one, on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/lower/recurrences.h"
#include "tests/run/run.h"
#include "tests/run/sample.h"

namespace wkvc::test {
namespace {

void expect_within(const Errors& errors, const Config& config, const std::string& what, std::size_t results = 2) {
  EXPECT_EQ(errors.size(), results);
  for (const auto& [name, error] : errors) EXPECT_LE(error, bound_of(config, Role::output)) << what << ": " << name;
}

Config config_of(const std::string& mma, const std::string& io, int key_dim = 0, int value_dim = 0) {
  Config config;
  config.mma = mma;
  config.io = io;
  config.key_dim = key_dim;
  config.value_dim = value_dim;
  return config;
}

class Forward : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  void check(const Definition& definition, const Config& config, LaunchSize size,
             const std::function<void(Problem&)>& change = {}) {
    const std::string text = cuda_text(definition, config);
    if (!sample_.holds(text)) return;
    const Program program = Program::load(text, GetParam());
    const Manifest& manifest = program.manifest();
    Problem problem = random_problem(manifest, size, 17 * static_cast<unsigned>(size.tokens) + 1);
    if (change) change(problem);
    const auto outputs = std::ranges::count(manifest.tensors, Role::output, &TensorSpec::role);
    expect_within(run_and_compare(program, rec_text(definition, config), problem), config,
                  manifest.op + ", " + manifest.config + ", T " + std::to_string(size.tokens),
                  1 + static_cast<std::size_t>(outputs));
  }

  Sample sample_;
};

const std::vector<Config> kDtypes = {config_of("f16", "bf16"), config_of("bf16", "bf16"), config_of("f32", "f32"),
                                     config_of("f16", "f16"),  config_of("f16", "f32"),   config_of("f32", "bf16")};

TEST_P(Forward, SequenceLengths) {
  for (std::int64_t tokens : {1, 15, 16, 17, 63, 1000})
    for (const Definition& definition : {rwkv7(), rwkv6()}) check(definition, config_of("f16", "bf16"), {1, tokens, 2});
}

TEST_P(Forward, Dtypes) {
  for (const Config& config : kDtypes)
    for (const Definition& definition : {rwkv7(), rwkv7_logw(), rwkv6()}) {
      check(definition, config, {2, 50, 2}, [](Problem& problem) {
        for (double& w : problem.values["w"]) w -= 4;  // log decays below 0 for either decay form
      });
    }
}

TEST_P(Forward, Heads) {
  for (auto [K, V] : {std::pair{32, 32}, {128, 128}, {64, 128}, {48, 80}})
    for (const char* mma : {"f16", "bf16"})
      for (const Definition& definition : {rwkv7(), rwkv6()})
        check(definition, config_of(mma, "bf16", K, V), {1, 40, 2});
}

// Segments of a sequence side by side, some of them empty.
TEST_P(Forward, Segments) {
  const auto mild = [](Problem& problem) {
    for (double& w : problem.values["w"]) w -= 4;  // what came long before still counts
  };
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    for (Config config : {kDtypes[0], kDtypes[1], kDtypes[2]}) {
      config.segments = config.mma == "f16" ? 8 : 3;
      for (std::int64_t tokens : {1, 17, 63, 300}) check(definition, config, {2, tokens, tokens < 15 ? 15 : 2}, mild);
    }
  }
}

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

TEST_P(Forward, SegmentsOfOtherHeads) {
  Config cut = config_of("f16", "bf16", 48, 80);
  cut.segments = 3;
  check(rwkv7(), cut, {1, 100, 2});
  check(rwkv6(), cut, {1, 100, 2});
  cut.key_dim = 128;
  cut.value_dim = 64;
  check(rwkv7(), cut, {1, 100, 2});
}

TEST_P(Forward, HeadFirst) {
  for (const Definition& definition : {rwkv7(), rwkv6()})
    check(definition, config_of("f16", "bf16"), {2, 37, 3},
          [](Problem& problem) { problem.storage = Storage::heads_first; });
}

// Which no kernel for aligned launches can take.
TEST_P(Forward, UnalignedRows) {
  const auto unaligned = [](Problem& problem) { problem.storage = Storage::unaligned; };
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    check(definition, config_of("f16", "bf16"), {2, 37, 3}, unaligned);
    check(definition, config_of("f32", "f32"), {2, 37, 3}, unaligned);
    Config config = config_of("f16", "bf16");
    config.teams = 2;
    check(definition, config, {2, 37, 3}, unaligned);
    config.rounds = 2;
    check(definition, config, {2, 37, 3}, unaligned);
  }
}

// log_w from −40 a token to exactly 0.
TEST_P(Forward, StrongDecays) {
  std::vector<Config> configs = kDtypes;
  configs.push_back(kDtypes[0]);
  configs.back().teams = 2;
  for (const Config& config : configs) {
    check(rwkv6(), config, {1, 100, 2}, [&](Problem& problem) {
      auto& w = problem.values["w"];
      for (std::size_t i = 0; i < w.size(); ++i) {
        double choices[] = {-200.0, std::log(40.0), 2.0, -1.0, -6.0};
        w[i] = choices[(i * 7 + i / 64 * 3) % 5];
      }
    });
  }
}

// One key again and again and hardly any decay: the hardest triangular solve.
TEST_P(Forward, RepeatedKey) {
  std::vector<Config> configs = kDtypes;
  configs.push_back(kDtypes[0]);
  configs.back().teams = 4;
  configs.push_back(configs.back());
  configs.back().rounds = 2;
  for (double beta : {0.9, 1.0}) {
    for (const Config& config : configs) {
      check(rwkv7(), config, {1, 200, 1}, [&](Problem& problem) {
        auto &a = problem.values["a"], &b = problem.values["b"], &w = problem.values["w"], &k = problem.values["k"];
        for (std::size_t i = 0; i < a.size(); ++i) {
          a[i] = a[i % 64];
          b[i] = -beta * a[i];
          k[i] = -a[i];
          w[i] = -6;
        }
      });
    }
  }
}

// Magnitudes far outside f16's range.
TEST_P(Forward, Magnitudes) {
  Config config = config_of("f16", "bf16");
  for (config.teams = 0; config.teams <= 4; config.teams += 4) {
    for (double scale : {1e-7, 1e7}) {
      check(rwkv7(), config, {1, 50, 1}, [&](Problem& problem) {
        for (const char* name : {"v", "initial_state"})
          for (double& x : problem.values[name]) x *= scale;
      });
    }
  }
}

// States that begin with one magnitude, of which nothing is left where they end, and go through others.
TEST_P(Forward, MagnitudesThatChange) {
  Config config = config_of("f16", "bf16");
  for (config.teams = 0; config.teams <= 4; config.teams += 4) {
    for (const Definition& definition : {rwkv7(), rwkv6()}) {
      for (auto [first, later] : {std::pair{1e7, 1e-4}, {1e-20, 1e4}, {0., 1e-6}, {1e4, 1e8}}) {
        check(definition, config, {1, 200, 2}, [&, first = first, later = later](Problem& problem) {
          for (double& x : problem.values["initial_state"]) x *= first;
          auto& v = problem.values["v"];
          for (std::size_t i = 0; i < v.size(); ++i) v[i] *= i < v.size() / 2 ? first : later;
          for (double& w : problem.values["w"]) w = 3 * (w > 0) - 1;
        });
      }
    }
  }
}

// Which blocks a guarded kernel has refused: sequences, or their segments.
std::vector<bool> refused(const Program& program, const Problem& problem, const std::string& name) {
  const TensorMap memory = run_in_memory(program, problem);
  const HostTensor& numbers = memory.at(name);
  std::vector<bool> all;
  for (std::size_t i = 0; i < numbers.size(); ++i) all.push_back(numbers.get(i) != 0);
  return all;
}

std::vector<Config> guarded_configs() {
  std::vector<Config> configs(7, config_of("f16", "bf16", 64, 64));
  configs[1].teams = 2;
  configs[2].teams = configs[2].rounds = 2;
  configs[3].teams = configs[3].rounds = configs[3].segments = 2;
  configs[4].io = "f16";
  configs[5].teams = configs[5].rounds = configs[5].cluster = 2;
  configs[6].teams = configs[6].rounds = configs[6].cluster = configs[6].segments = 2;
  for (Config& config : configs) config.scales = "guarded";
  return configs;
}

Config guarded_cluster() { return guarded_configs()[5]; }

void scale_second_head(std::vector<double>& x, double factor) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i / 64 % 2 == 1) x[i] *= factor;
}

// The raw decays of some columns of the second head, in a part of the sequence; elsewhere moderate ones.
void choose_decays(Problem& problem, std::size_t columns, double raw, const std::function<bool(std::size_t)>& at) {
  auto& w = problem.values["w"];
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::size_t token = i / 128, head = i / 64 % 2, column = i % 64;
    w[i] = head == 1 && column < columns && at(token) ? raw : std::min(w[i], -1.);
  }
}

// Without scales for all heads, or where one of two needs them.
TEST_P(Forward, Guarded) {
  using Refused = std::vector<bool>;
  for (const Definition& definition : {rwkv7(), rwkv6()})
    for (const Config& config : guarded_configs()) {
      const Program program = Program::load(cuda_text(definition, config), GetParam());
      const std::string rec = rec_text(definition, config);
      for (double factor : {1., 1e-4, config.io == "f16" ? 1e-5 : 1e9}) {
        Problem problem = random_problem(program.manifest(), {1, 70, 2}, 3);
        choose_decays(problem, 0, 0, {});  // moderate ones
        scale_second_head(problem.values["v"], factor);
        const std::string what =
            definition.name + ", " + program.manifest().config + ", v times " + std::to_string(factor);
        expect_within(run_and_compare(program, rec, problem), config, what);
        const bool second = factor != 1;
        const Refused expected = config.segments > 1 ? Refused{false, false, second, second} : Refused{false, second};
        if (GetParam() == Target::cuda) continue;  // internals are read where they lie
        EXPECT_EQ(refused(program, problem, "forward_refused"), expected) << what;
      }
    }
}

// Decays that are factored, in all heads or where one of two has others: in one column, and late, or from the first
// token on, so that later rounds are left out.
TEST_P(Forward, GuardedDecays) {
  for (const Config& config : guarded_configs()) {
    const Program program = Program::load(cuda_text(rwkv6(), config), GetParam());
    const std::string rec = rec_text(rwkv6(), config);
    for (const double raw : {-1., 0., 1., 6.}) {
      Problem problem = random_problem(program.manifest(), {1, 150, 2}, 3);
      choose_decays(problem, raw == 1 ? 1 : 64, raw, [](std::size_t token) { return token >= 100; });
      const std::string what = program.manifest().config + ", raw decay " + std::to_string(raw);
      expect_within(run_and_compare(program, rec, problem), config, what);
      if (GetParam() == Target::cuda) continue;  // internals are read where they lie
      const std::vector<bool> all = refused(program, problem, "forward_refused");
      EXPECT_EQ(std::vector<bool>(all.begin(), all.end() - 1), std::vector<bool>(all.size() - 1)) << what;
      EXPECT_EQ(all.back(), raw > -1) << what;
    }
    Problem problem = random_problem(program.manifest(), {1, 300, 2}, 3);
    choose_decays(problem, 64, 1, [](std::size_t) { return true; });
    expect_within(run_and_compare(program, rec, problem), config,
                  program.manifest().config + ", later rounds left out");
  }
}

TEST_P(Forward, GuardedDtypesAndHeads) {
  for (Config config : kDtypes) {
    config.scales = "guarded";
    for (const Definition& definition : {rwkv7(), rwkv6()}) check(definition, config, {2, 50, 2});
  }
  for (auto [K, V] : {std::pair{32, 32}, {128, 128}, {48, 80}})
    for (const std::int64_t tokens : {15, 17, 63}) {
      Config config = config_of("f16", "bf16", K, V);
      config.scales = "guarded";
      for (const Definition& definition : {rwkv7(), rwkv6()}) check(definition, config, {1, tokens, 2});
    }
}

// Each part of the guard keeps something wrong from coming out.
TEST_P(Forward, NoPartOfTheGuardIsIdle) {
  Config config = guarded_configs()[1];
  const std::string text = cuda_text(rwkv7(), config), rec = rec_text(rwkv7(), config);
  const auto changed = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return std::string(text).replace(at, from.size(), to);
  };
  const auto worst = [&](const std::string& source, const char* input, double factor) {
    const Program program = Program::load(source, GetParam());
    Problem problem = random_problem(program.manifest(), {1, 70, 2}, 3);
    for (double& x : problem.values[input]) x *= factor;
    const Errors errors = run_and_compare(program, rec, problem);
    return std::max(errors.at("o"), errors.at("final_state"));
  };
  for (auto [from, to, input, factor] : std::vector<std::tuple<const char*, const char*, const char*, double>>{
           {"largest_of_sample<bf16, 64>(r_global, block, 0, tokens_of(args, block)),", "1.f,", "r", 1e-9},
           {"largest_of_sample<bf16, 64>(k_global, block, 0, tokens_of(args, block)),", "1.f,", "k", 1e-9},
           {"store_outputs(guard, args, ", "store_outputs(args, ", "r", 1e9},
           {"if (!is_refused(forward_refused_global, block)) return;", "return;", "v", 1e-9}}) {
    EXPECT_LE(worst(text, input, factor), 1.8e-3) << from;
    EXPECT_GT(worst(changed(from, to), input, factor), 1.8e-3) << from;
  }
}

// Where one block of a cluster finds something, all blocks leave the state before the sequence as it is.
TEST_P(Forward, GuardedStatesInPlace) {
  for (const Definition& definition : {rwkv7(), rwkv6()})
    for (const Config& config : guarded_configs()) {
      const std::string text = cuda_text(definition, config);
      if (!sample_.holds(text)) continue;
      const Program program = Program::load(text, GetParam());
      for (const std::size_t column : {0U, 63U}) {
        Problem problem = random_problem(program.manifest(), {1, 70, 2}, 3);
        choose_decays(problem, 0, 0, {});
        for (std::size_t token = 40; token < 70; ++token) problem.values["v"][token * 128 + 64 + column] = 1e6;
        const auto expected = run_raw(program, problem);
        problem.in_place = true;
        EXPECT_TRUE(run_raw(program, problem) == expected)
            << definition.name << ", " << program.manifest().config << ", column " << column;
        if (GetParam() == Target::cuda) continue;  // internals are read where they lie
        EXPECT_TRUE(refused(program, problem, "forward_refused").back());
      }
    }
}

// Of few tokens, with rounds that are not full, of more blocks, and of wide heads.
TEST_P(Forward, GuardedClusters) {
  Config config = guarded_cluster();
  for (const Definition& definition : {rwkv7(), rwkv6()})
    for (const double factor : {1., 1e-5, 1e9})
      for (const std::int64_t tokens : {1, 15, 16, 17, 63, 65, 290})
        check(definition, config, {2, tokens, 2}, [&](Problem& problem) {
          choose_decays(problem, 0, 0, {});
          scale_second_head(problem.values["v"], factor);
        });
  Config odd = config_of("bf16", "bf16", 48, 64);
  odd.teams = 3;
  odd.rounds = 2;
  odd.cluster = 4;
  odd.scales = "guarded";
  check(rwkv6(), odd, {1, 350, 1});
  Config wide = config_of("f16", "bf16", 128, 128);  // whose states are updated by groups of four warps
  wide.teams = wide.rounds = wide.cluster = 2;
  wide.scales = "guarded";
  EXPECT_NE(cuda_text(rwkv6(), wide).find("group_mma"), std::string::npos);
  for (const double raw : {-1., 1.})
    check(rwkv6(), wide, {1, 300, 2}, [&](Problem& problem) {
      for (double& w : problem.values["w"]) w = raw > 0 ? raw : std::min(w, raw);
    });
}

// Whichever block, and whichever of its warps, is late where blocks and warps wait for each other.
TEST_P(Forward, GuardedClustersWithLateWarps) {
  if (GetParam() == Target::cuda) GTEST_SKIP() << "the text calls what only a host has";
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const std::string text = cuda_text(definition, guarded_cluster());
    const auto results = [&](const std::string& source) {
      const Program program = Program::load(source, GetParam());
      Problem problem = random_problem(program.manifest(), {1, 300, 2}, 3);
      choose_decays(problem, definition.name == "rwkv6" ? 64 : 0, 1, [](std::size_t) { return true; });
      problem.values["v"][150 * 128 + 127] = 1e9;
      problem.in_place = true;
      EXPECT_EQ(refused(program, problem, "forward_refused"), (std::vector<bool>{false, true}));
      return run_raw(program, problem);
    };
    const auto expected = results(text);
    for (const std::string late : {"block.rank == 0", "block.rank == 1", "block.warp == 0", "block.warp > 1"}) {
      const std::regex waits(R"((team\.claim|slot\.await|guard\.tell_cluster|block\.cluster_barrier))");
      const std::string sleep = "if (" + late + ") std::this_thread::sleep_for(std::chrono::microseconds(200)); $1";
      EXPECT_TRUE(results(std::regex_replace(text, waits, sleep)) == expected) << definition.name << ", " << late;
    }
  }
}

TEST_P(Forward, NoPartOfAClustersGuardIsIdle) {
  const std::string text = cuda_text(rwkv7(), guarded_cluster());
  const auto in_place = [&](const std::string& source) {
    const Program program = Program::load(source, GetParam());
    Problem problem = random_problem(program.manifest(), {1, 70, 2}, 3);
    for (std::size_t token = 0; token < 70; ++token) problem.values["v"][token * 128 + 127] = 1e6;
    problem.in_place = true;
    return run_raw(program, problem);
  };
  const auto expected = in_place(text);
  for (auto [from, to] : {std::pair{R"(guard\.tell_cluster<2>\(\w+\);)", ""},
                          {"tell_cluster<2>", "tell_cluster<1>"},  // the second block does not hear of its own
                          {R"(if \(guard\.refuses_with_cluster\(\)\) return;)", ""},
                          {R"(if \(guard\.(refuses_with_cluster\(\))\) return;)", "guard.$1;"}}) {
    const std::string changed = std::regex_replace(text, std::regex(from), to);
    ASSERT_NE(changed, text) << from;
    EXPECT_FALSE(in_place(changed) == expected) << from;
  }
}

// Decays are checked over both halves of a chunk: beyond e^-7 f16 has fewer digits of what is decayed.
TEST_P(Forward, NoCheckOfDecaysIsIdle) {
  Config config = config_of("f16", "f32", 64, 64);
  config.teams = 2;
  config.scales = "guarded";
  const std::string text = cuda_text(rwkv6(), config), rec = rec_text(rwkv6(), config);
  const auto error = [&](const std::string& source, std::size_t half) {
    const Program program = Program::load(source, GetParam());
    Problem problem = random_problem(program.manifest(), {1, 70, 2}, 3);
    choose_decays(problem, 64, std::log(1.4), [half](std::size_t token) { return token / 8 % 2 == half; });
    for (double& x : problem.values["r"]) x *= half == 0 ? 0.2 : 0.04;
    for (double& x : problem.values["k"]) x *= half == 0 ? 0.04 : 0.2;
    for (double& x : problem.values["initial_state"]) x *= 0.04;
    return run_and_compare(program, rec, problem).at("o");
  };
  const std::pair<const char*, std::size_t> checks[] = {{R"(not_below\((row<7>\(L\)), [^)]*\))", 0},
                                                        {R"(not_below\((L_last - L_middle), [^)]*\))", 1}};
  for (const auto& [check, half] : checks) {
    const auto first = std::regex_constants::format_first_only;
    const std::string changed = std::regex_replace(text, std::regex(check), "$1", first);
    ASSERT_NE(changed, text) << check;
    EXPECT_LE(error(text, half), 4e-4) << check;
    EXPECT_GT(error(changed, half), 5e-4) << check;
  }
}

TEST_P(Forward, ManyHeads) {
  Config config = config_of("f16", "bf16", 16, 16);
  check(rwkv6(), config, {1, 3, GetParam() == Target::host ? 300 : 70000});
}

TEST_P(Forward, SameBytesEveryTime) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = config_of("f16", "bf16");
    for (config.teams = 0; config.teams <= 2; config.teams += 2) {
      const Program program = Program::load(cuda_text(definition, config), GetParam());
      const Problem problem = random_problem(program.manifest(), {2, 100, 8}, 5);
      auto first = run_raw(program, problem);
      for (int i = 1; i < (GetParam() == Target::host ? 10 : 100); ++i)
        ASSERT_EQ(run_raw(program, problem), first) << i;
    }
  }
}

std::string target_name(const testing::TestParamInfo<Target>& info) {
  return info.param == Target::host ? "Host" : "Cuda";
}
INSTANTIATE_TEST_SUITE_P(Targets, Forward, testing::Values(Target::host, Target::cuda), target_name);

}  // namespace
}  // namespace wkvc::test
