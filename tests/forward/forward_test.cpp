// The emitted forward kernels against the float64 recurrence, on the host target and, where there is one, on a GPU.
#include <gtest/gtest.h>

#include <cmath>

#include "dsl/builtin.h"
#include "tests/forward/forward.h"
#include "tests/run/repeated_keys.h"

namespace wkvc::test {
namespace {

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

TEST_P(Forward, SegmentsOfOtherHeads) {
  Config cut = config_of("f16", "bf16", 48, 80);
  cut.segments = 3;
  check(rwkv7(), cut, {1, 100, 2});
  check(rwkv6(), cut, {1, 100, 2});
  cut.key_dim = 128;
  cut.value_dim = 64;
  check(rwkv7(), cut, {1, 100, 2});
}

// Blocks have no room for rings of two stages (Copies.StartWhereTheirPlaceIsFree).
TEST_P(Forward, CopiesNothingAhead) {
  for (auto [definition, bytes] : {std::pair{rwkv7(), 30000}, {rwkv6(), 33000}}) {
    Config config = config_of("f16", "bf16");
    config.sram = bytes;
    for (std::int64_t tokens : {1, 17, 150}) check(definition, config, {2, tokens, tokens < 15 ? 15 : 2});
    config.segments = 2;
    check(definition, config, {1, 100, 2});
  }
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
      check(rwkv7(), config, {1, 200, 1}, [&](Problem& problem) { repeat_key(problem, beta); });
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

TEST_P(Forward, ManyHeads) {
  Config config = config_of("f16", "bf16", 16, 16);
  check(rwkv6(), config, {1, 3, GetParam() == Target::host ? 300 : 70000});
}

TEST_P(Forward, SameBytesEveryTime) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    std::vector<Config> configs(3, config_of("f16", "bf16"));
    configs[1].teams = 2;
    configs[2].segments = 3;  // five kernels, which start before others have ended
    configs[2].scales = "guarded";
    for (const Config& config : configs) {
      const Program program = Program::load(cuda_text(definition, config), GetParam());
      const Problem problem = random_problem(program.manifest(), {2, 100, 8}, 5);
      auto first = run_raw(program, problem);
      for (int i = 1; i < (GetParam() == Target::host ? 4 : 100); ++i) ASSERT_EQ(run_raw(program, problem), first) << i;
    }
  }
}

std::string target_name(const testing::TestParamInfo<Target>& info) {
  return info.param == Target::host ? "Host" : "Cuda";
}
INSTANTIATE_TEST_SUITE_P(Targets, Forward, testing::Values(Target::host, Target::cuda), target_name);

}  // namespace
}  // namespace wkvc::test
