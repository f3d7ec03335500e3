// What the compiler refuses of teams, rounds and clusters, and how kernels look with numbers that it takes.
#include "dsl/builtin.h"
#include "tests/count.h"
#include "tests/lower/faulty.h"

namespace wkvc::test {
namespace {

// Teams prepare chunks before the state is there.
TEST(Teams, PrepareWhatDoesNotDependOnTheState) {
  const auto error = [](int teams, std::function<Expr(const Values&)> output) {
    Config config;
    config.key_dim = config.value_dim = 32;
    const Source source = source_from(
        rec_text(with([output](const Values& at) { at.finish(at.S + outer(at.v, at.k), output(at)); }), config));
    config.teams = teams;
    return user_error_of([&] { lower_to(source, Stage::warp, config); });
  };
  const auto of_state = [](const Values& at) { return dot(dot(at.S, at.k), at.v); };
  const auto of_values = [](const Values& at) { return dot(at.v, at.v) * at.v; };
  expect_contains(error(2, of_state), "--teams 2: the forward kernel of 'faulty' makes");
  expect_contains(error(2, of_state), "of value rows, for other warps than theirs");
  expect_contains(error(2, of_state), "use --teams 1");
  expect_contains(error(2, of_values), "--teams 2: the forward kernel of 'faulty' makes");
  expect_contains(error(3, of_state), "has 2 warps; expected a number that divides them");
  const Config narrow{.key_dim = 16, .value_dim = 16, .teams = 2};
  expect_contains(user_error_of([&] { lower_to(rec_source(rwkv7(), narrow), Stage::warp, narrow); }),
                  "has 1 warp; expected 1");
}

TEST(Teams, AheadAreOfWarpsThatABlockHas) {
  Config config;
  config.rounds = 2;
  const auto error = [&](int teams, int K, int V) {
    config.teams = teams;
    config.key_dim = K;
    config.value_dim = V;
    return user_error_of([&] { lower_to(source_from(rec_text(rwkv7(), config)), Stage::warp, config); });
  };
  expect_contains(error(15, 64, 64), "would have 34 warps, 30 of them to prepare chunks; a block has at most 32");
  expect_contains(error(7, 64, 64), "for 7 teams, the budget is 232448; use --rounds 1, fewer --teams");
}

Definition delta_rule(int keys, int values) {
  return recurrence("delta", [=](Recurrence& op) {
    Dim K = op.key_dim(keys), V = op.value_dim(values);
    op.compute(f16);
    auto k = op.input("k", K, bf16), v = op.input("v", V, bf16);
    auto S = op.state("S", V, K, f32);
    op.update(S, S - outer(dot(S, k), k) + outer(v, k));
    op.output("o", dot(S, k), bf16);
  });
}

// Summaries have rows of the map beside those of the state. Of wide heads the blocks of a cluster share them; where
// they leave no warps for teams, summaries do without.
TEST(Teams, AheadOfSummaries) {
  const auto text_of = [](int keys, int values, int teams) {
    const Config config{.teams = teams, .rounds = 2, .segments = 2};
    return lower_to(source_from(rec_text(delta_rule(keys, values), config)), Stage::warp, config);
  };
  const std::string wide = text_of(128, 128, 3);
  EXPECT_EQ(count(wide, "grid(segments = 2, cluster = 2, blocks = 1), prepare(teams = 3, warps = 4)"), 1U);
  EXPECT_EQ(count(wide, "grid(segments = 2, blocks = 1), prepare(teams = 3, warps = 4)"), 1U);
  EXPECT_EQ(count(text_of(64, 256, 7), "prepare(teams = 7, warps = 2)"), 1U);
  EXPECT_EQ(count(text_of(64, 64, 3), "grid(segments = 2, blocks = 1), prepare(teams = 3, warps = 2)"), 2U);
}

// A single team prepares chunk by chunk, and those of a cluster's blocks a chunk each.
TEST(Teams, AheadMayBeOne) {
  Config config{.teams = 1, .rounds = 2};
  const auto text_of = [&] { return lower_to(source_from(rec_text(rwkv7(), config)), Stage::cuda, config); };
  EXPECT_EQ(count(text_of(), "using Slots = RoundSlots<1, "), 1U);
  config.cluster = 4;
  EXPECT_EQ(count(text_of(), ", 2, 4>;  // teams"), 1U);
}

TEST(Teams, OfClustersHaveAPartOfTheRows) {
  Config config;
  config.teams = config.rounds = 2;
  const auto error = [&](int cluster, int V) {
    config.cluster = cluster;
    config.key_dim = 32;
    config.value_dim = V;
    return user_error_of([&] { lower_to(source_from(rec_text(rwkv7(), config)), Stage::warp, config); });
  };
  expect_contains(error(3, 64), "--cluster 3: expected 1, 2, 4 or 8");
  expect_contains(error(2, 48), "--cluster 2: the 3 warps of the forward kernel of 'rwkv7'");
  config.teams = 3;
  config.io = "f32";
  expect_contains(error(2, 256), "for 3 teams in each of 2 blocks, the budget is 232448; use a smaller --cluster");
  config.io = "bf16";
  config.teams = 4;  // a round of more chunks than a block has warps for teams
  config.cluster = 4;
  config.key_dim = 16;
  config.value_dim = 64;
  const std::string text = lower_to(source_from(rec_text(rwkv6(), config)), Stage::cuda, config);
  EXPECT_EQ(count(text, "using Slots = RoundSlots<4, "), 1U);
  EXPECT_EQ(count(text, ", 2, 4>;  // teams"), 1U);  // two slots for each chunk, four blocks
  EXPECT_EQ(count(text, "first += Slots::kChunks"), 2U);
  EXPECT_EQ(count(text, "team.claim();"), 1U);
  EXPECT_EQ(count(text, "team.publish();"), 1U);
  EXPECT_EQ(count(text, "slot.await();"), 1U);
  EXPECT_EQ(count(text, "slot.release();"), 1U);
  EXPECT_EQ(count(text, "block.cluster_barrier();"), 2U);  // before teams end, and the others
  config.teams = 2;
  config.rounds = 1;
  expect_contains(error(2, 64), "--cluster 2: blocks share what teams prepare a round ahead: give --rounds 2");
}

TEST(Teams, OfBackwardKernelsTakeASavedStateThroughEachRound) {
  Config config;
  config.pass = "both";
  config.backward_teams = 2;
  const auto error_of = [](const Source& source, const Config& given) {
    return user_error_of([&] { lower_to(source, Stage::warp, given); });
  };
  const Source rec = source_from(rec_text(rwkv7(), config));
  Config other = config;
  other.save_every = 64;
  expect_contains(error_of(rec, other), "need a saved state every 2 chunks, not every 4 (a kernel without scales");
  other = config;
  other.pass = "backward";
  other.backward_teams = 0;
  other.teams = 2;
  expect_contains(error_of(rec, other), "--pass backward has no forward kernel: give --pass both, or --teams auto,2");
  other.teams = 0;
  other.rounds = 2;
  expect_contains(error_of(rec, other), "--rounds is an option of the forward kernel");
  other.rounds = 0;
  other.cluster = 2;
  expect_contains(error_of(rec, other), "--cluster is an option of the forward kernel");
  other = config;
  other.backward_teams = 3;
  expect_contains(error_of(rec, other), "has 4 warps; expected a number that divides them");

  const Source by_teams = source_from(lower_to(rec, Stage::chunk, config));
  EXPECT_EQ(lower_to(by_teams, Stage::warp, {}), lower_to(rec, Stage::warp, config));  // needs no options
  EXPECT_EQ(lower_to(by_teams, Stage::warp, config), lower_to(rec, Stage::warp, config));
  expect_contains(error_of(by_teams, {.backward_teams = 1, .pass = "both"}),
                  "through rounds of chunks, one for each team: give --teams 1,2");
  other = config;
  other.save_every = 64;
  other.scales = "guarded";
  const Source in_two_rounds = source_from(lower_to(rec, Stage::chunk, other));
  EXPECT_EQ(lower_to(in_two_rounds, Stage::warp, {}), lower_to(rec, Stage::warp, other));
  other = {.backward_teams = 1, .pass = "both"};
  expect_contains(error_of(in_two_rounds, other), "one for each team: give --teams 1,2");
  other.backward_teams = 4;
  expect_contains(error_of(in_two_rounds, other), "the first of them twice: give --teams N,2");

  other = config;
  other.backward_teams = 0;
  const Source alone = source_from(lower_to(rec, Stage::chunk, other));
  expect_contains(error_of(alone, config), "has no update of its saved state");

  std::string early = lower_to(rec, Stage::chunk, config);
  const std::string bound = "chunk.round %k_out scale [\"k\"]";
  early.replace(early.rfind(bound), bound.size(), "chunk.round %k_out scale [\"S\"]");
  expect_contains(error_of(source_from(early), config), "rounds 'k_out' in a scale of the state 'S'");
}

}  // namespace
}  // namespace wkvc::test
