// The states behind every so many tokens: within the bounds of the float64 recurrence, with the bytes of final states,
// and of no effect on other results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/expect_error.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

constexpr int kHeads = 3;

Config single_tokens(int states_every) {
  Config config;
  config.chunk = 1;
  config.states_every = states_every;
  config.io = config.mma = "f32";
  config.key_dim = 32;
  config.value_dim = 48;
  return config;
}

using Bytes = std::vector<std::byte>;

// Rows [first, last) of `count`.
Bytes rows(const Bytes& whole, std::int64_t count, std::int64_t first, std::int64_t last) {
  const auto row = static_cast<std::int64_t>(whole.size()) / count;
  return {whole.begin() + first * row, whole.begin() + last * row};
}

class IntermediateStates : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  Program load(const Config& config) const { return Program::load(cuda_text(rwkv7(), config), GetParam()); }
};

TEST_P(IntermediateStates, AreThoseOfTheRecurrence) {
  for (const auto& [every, tokens] : {std::pair{1, 5}, {3, 10}, {4, 8}}) {
    const Config config = single_tokens(every);
    const Program program = load(config);
    const Problem problem = random_problem(program.manifest(), {2, tokens, kHeads}, 3);
    const Errors errors = run_and_compare(program, rec_text(rwkv7(), config), problem);
    ASSERT_TRUE(errors.contains("intermediate_states"));
    for (const auto& [name, error] : errors) EXPECT_LE(error, 1e-5) << name << ", every " << every;
  }
}

std::vector<Config> schedules_of_chunks() {
  Config chunks, exact, teams, segments, cluster;
  exact.mma = exact.io = "f32";
  teams.teams = teams.rounds = 2;
  teams.scales = "guarded";
  segments.segments = 3;
  segments.state = "bf16";
  segments.state_layout = "kv";
  cluster.teams = cluster.rounds = cluster.cluster = 2;
  std::vector<Config> all{chunks, exact, teams, segments, cluster};
  for (Config& config : all) config.states_every = 32;
  return all;
}

TEST_P(IntermediateStates, OfEveryScheduleOfChunks) {
  for (const Config& config : schedules_of_chunks()) {
    for (const Definition& definition : {rwkv7(), rwkv6()}) {
      const Program program = Program::load(cuda_text(definition, config), GetParam());
      const Problem problem = random_problem(program.manifest(), rec_text(definition, config), {2, 150, kHeads}, 3);
      const Errors errors = run_and_compare(program, rec_text(definition, config), problem);
      ASSERT_TRUE(errors.contains("intermediate_states"));
      const double bound = std::max(bound_of(config, Role::output), config.state == "bf16" ? 3.2e-3 : 0.);
      for (const auto& [name, error] : errors) EXPECT_LE(error, bound) << program.manifest().config << ": " << name;
      Config without = config;
      without.states_every = 0;
      const Program plain = Program::load(cuda_text(definition, without), GetParam());
      const auto found = run_raw(program, problem), expected = run_raw(plain, problem);
      for (const char* name : {"o", "final_state"}) EXPECT_TRUE(found.at(name) == expected.at(name)) << name;
    }
  }
}

// In every dtype and order: each is the final state of its tokens alone, and nothing else changes.
TEST_P(IntermediateStates, HaveTheBytesOfFinalStates) {
  for (const auto& [dtype, layout] : {std::pair{"f32", "vk"}, {"f32", "kv"}, {"bf16", "vk"}, {"f16", "kv"}}) {
    Config without = single_tokens(0), with = single_tokens(2);
    with.state = without.state = dtype;
    with.state_layout = without.state_layout = layout;
    const Program plain = load(without), program = load(with);
    constexpr std::int64_t kTokens = 7;
    const Problem problem = random_problem(program.manifest(), {1, kTokens, kHeads}, 3);
    const auto found = run_raw(program, problem), expected = run_raw(plain, problem);
    for (const char* name : {"o", "final_state"}) EXPECT_TRUE(found.at(name) == expected.at(name)) << name;
    for (std::int64_t n = 0; n < kTokens / 2; ++n) {
      Problem part = problem;
      part.size.tokens = 2 * (n + 1);
      for (auto& [name, values] : part.values)
        if (name != "initial_state") values.resize(values.size() / kTokens * static_cast<std::size_t>(2 * (n + 1)));
      EXPECT_TRUE(rows(found.at("intermediate_states"), kTokens / 2, n, n + 1) ==
                  run_raw(plain, part).at("final_state"))
          << dtype << " " << layout << ": state " << n;
    }
  }
}

TEST_P(IntermediateStates, MayBeLeftOut) {
  const Program program = load(single_tokens(2));
  Problem problem = random_problem(program.manifest(), {1, 5, kHeads}, 3);
  const Bytes expected = run_raw(program, problem).at("o");
  problem.absent.insert("intermediate_states");
  EXPECT_TRUE(run_raw(program, problem).at("o") == expected);
}

// Sequence n has those from ⌊first token / distance⌋ on; what lies between those of two sequences is nobody's.
TEST_P(IntermediateStates, OfSequencesAreThoseThatTheyHaveAlone) {
  constexpr std::int64_t kEvery = 2;
  const Program program = load(single_tokens(kEvery));
  const std::vector<std::int64_t> starts{0, 3, 3, 8, 9};
  LaunchSize size{1, starts.back(), kHeads, SequenceMap{4, starts.data(), true}};
  const Problem problem = random_problem(program.manifest(), size, 3);
  const Bytes together = run_raw(program, problem).at("intermediate_states");
  const std::int64_t count = starts.back() / kEvery;
  std::vector<bool> written(static_cast<std::size_t>(count));
  for (std::int64_t n = 0; n < 4; ++n) {
    const std::int64_t length = starts[n + 1] - starts[n], first = starts[n] / kEvery;
    if (length < kEvery) continue;
    Problem alone = problem;
    alone.size = {1, length, kHeads};
    for (auto& [name, values] : alone.values) {
      const auto row = static_cast<std::int64_t>(values.size()) / (name == "initial_state" ? 4 : starts.back());
      const std::int64_t from = name == "initial_state" ? n : starts[n];
      values = std::vector<double>(values.begin() + from * row,
                                   values.begin() + (from + (name == "initial_state" ? 1 : length)) * row);
    }
    EXPECT_TRUE(rows(together, count, first, first + length / kEvery) ==
                run_raw(program, alone).at("intermediate_states"))
        << "sequence " << n;
    std::fill_n(written.begin() + first, length / kEvery, true);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const Bytes state = rows(together, count, i, i + 1);
    const bool poison = std::ranges::all_of(state, [](std::byte x) { return x == std::byte{0xff}; });
    EXPECT_EQ(poison, !written[static_cast<std::size_t>(i)]) << "state " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Host, IntermediateStates, testing::Values(Target::host));
INSTANTIATE_TEST_SUITE_P(Cuda, IntermediateStates, testing::Values(Target::cuda));

TEST(IntermediateStatesOptions, AreOfForwardKernels) {
  Config both = single_tokens(2);
  both.pass = "both";
  both.chunk = 0;
  expect_contains(user_error_of([&] { cuda_text(rwkv7(), both); }), "no gradients come from intermediate states");
  Config uneven = single_tokens(24);
  uneven.chunk = 16;
  expect_contains(user_error_of([&] { cuda_text(rwkv7(), uneven); }), "expected a multiple of 16 tokens, or --chunk 1");
}

// The launch takes them contiguous, and as many as there are.
TEST(IntermediateStatesOptions, AreContiguous) {
  const Program program = Program::load(cuda_text(rwkv7(), single_tokens(2)), Target::host);
  const Problem problem = random_problem(program.manifest(), {1, 6, kHeads}, 3);
  TensorMap memory = run_in_memory(program, problem);
  const auto launch = [&](const Extents& shape, const Extents& strides) {
    NamedTensors views;
    for (const TensorSpec& spec : program.manifest().tensors) {
      views[spec.name] = layout_of(spec, program.manifest(), problem.size).view(memory.at(spec.name).view());
    }
    views["intermediate_states"].shape = shape;
    views["intermediate_states"].strides = strides;
    program.launch(views, problem.size);
  };
  const Extents whole{1, 3, kHeads, 48, 32};
  EXPECT_NO_THROW(launch(whole, contiguous_strides(whole)));
  Extents heads_first = contiguous_strides(whole);
  std::swap(heads_first[1], heads_first[2]);
  expect_contains(user_error_of([&] { launch(whole, heads_first); }), "has to be contiguous");
  const Extents fewer{1, 2, kHeads, 48, 32};
  expect_contains(user_error_of([&] { launch(fewer, contiguous_strides(fewer)); }), "expected [B, M, H, V, K]");
}

}  // namespace
}  // namespace wkvc::test
