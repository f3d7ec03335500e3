// Forward kernels without scales, and the kernels behind them, which take what plain kernels refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "dsl/builtin.h"
#include "tests/forward/forward.h"

namespace wkvc::test {
namespace {

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
      const std::string yields = "for (int n = 0; n < 100 && " + late + "; ++n) block.cluster->warps.yield(); $1";
      EXPECT_TRUE(results(std::regex_replace(text, waits, yields)) == expected) << definition.name << ", " << late;
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

}  // namespace
}  // namespace wkvc::test
