// What a lockfile settles, and what it leaves alone.
#include "autotune/lockfile/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "autotune/lockfile/config_json.h"
#include "codegen/config/config.h"
#include "dsl/builtin.h"
#include "dsl/wkvc.h"
#include "runtime/base/hash.h"

namespace wkvc {
namespace {

using ::testing::HasSubstr;

const Gpu h200{.name = "NVIDIA H200", .arch = "sm_90a", .sm_count = 132};
const Config training{.key_dim = 64, .value_dim = 64, .pass = "both"};

Source source_of(const Config& config) { return {Stage::rec, rec_text(rwkv7(), config)}; }

Lockfile tuned_for(const Config& config, LaunchSize size) {
  LockEntry entry;
  entry.shape_class = {.op = "rwkv7",
                       .pass = "both",
                       .io = DType::bf16,
                       .key_dim = 64,
                       .value_dim = 64,
                       .accuracy = "f16",
                       .size = size};
  entry.gpu = h200;
  entry.recurrence = hex_hash(source_of(training).text);
  entry.config = config;
  entry.ms = 5;
  entry.ratio_to_copy = 3;
  entry.errors["o"] = {1e-3, 1.8e-3};
  entry.evidence = {.wkvc = "0.1.0",
                    .nvrtc = "13.0",
                    .driver = "13.0",
                    .date = "2026-11-21T20:00:00Z",
                    .candidates = 60,
                    .seed = 0,
                    .outputs = hex_hash("o")};
  Lockfile lockfile;
  lockfile.merge(entry);
  return lockfile;
}

const Config best{.chunk = 16, .blocks = 4, .backward_blocks = 2, .save_every = 32, .saved = "f16"};

TEST(Settings, AreThoseOfTheNearestShape) {
  const Settings settings = settle(training, source_of(training), {6, 2048, 64}, h200, tuned_for(best, {8, 4096, 64}));
  EXPECT_EQ(config_text(settings.config), config_text(best));
  EXPECT_EQ(settings.config.pass, "both");
  EXPECT_THAT(settings.because, HasSubstr("8,4096,64"));
}

TEST(Settings, AreEveryFieldThatIsTuned) {
  const Config all{.chunk = 16,
                   .blocks = 4,
                   .backward_blocks = 2,
                   .teams = 2,
                   .backward_teams = 1,
                   .rounds = 2,
                   .cluster = 2,
                   .parts = 2,
                   .segments = 1,
                   .backward_segments = 4,
                   .save_every = 32,
                   .saved = "f16",
                   .scales = "always",
                   .backward_scales = "guarded",
                   .form = "strips"};
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    EXPECT_EQ(is_set(field, all), option.recorded == Recorded::tuned) << field.name;
  });
  const auto lockfile = tuned_for(all, {8, 4096, 64});
  const Settings settings = settle(training, source_of(training), {8, 4096, 64}, h200, lockfile);
  EXPECT_EQ(config_text(settings.config), config_text(all));
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    if (option.recorded != Recorded::tuned || option.apart) return;
    Config given = training;
    copy_field(field, all, given);
    EXPECT_EQ(config_key(settle(given, source_of(training), {8, 4096, 64}, h200, lockfile).config), config_key(given));
  });
}

TEST(Settings, LeaveAloneWhatIsGiven) {
  Config given = training;
  given.teams = 2;
  const Settings settings = settle(given, source_of(given), {8, 4096, 64}, h200, tuned_for(best, {8, 4096, 64}));
  EXPECT_EQ(config_text(settings.config), config_text(given));
  EXPECT_THAT(settings.because, HasSubstr("given"));
}

TEST(Settings, AreChosenBesideWhatStandsApart) {
  const auto settled = [](const Config& given, const Lockfile& lockfile, const Compiles& compiles = can_be_lowered) {
    return settle(given, source_of(given), {8, 4096, 64}, h200, lockfile, compiles).config;
  };
  const auto tuned = tuned_for(best, {8, 4096, 64});
  Config given = training, beside_best = best, beside_preferred = settled(training, Lockfile{});
  EXPECT_EQ(beside_preferred.saved, "f16");
  given.saved = beside_best.saved = beside_preferred.saved = "bf16";
  EXPECT_EQ(config_text(settled(given, tuned)), config_text(beside_best));
  EXPECT_EQ(config_text(settled(given, Lockfile{})), config_text(beside_preferred));
  const auto refuses_best = [](const Source&, const Config& config) { return config.blocks != best.blocks; };
  EXPECT_EQ(config_text(settled(given, tuned, refuses_best)), config_text(beside_preferred));
  given.scales = given.backward_scales = beside_preferred.scales = beside_preferred.backward_scales = "always";
  EXPECT_EQ(config_text(settled(given, Lockfile{})), config_text(beside_preferred));
}

TEST(Settings, AreNotThoseOfAnotherTextOrPass) {
  const Lockfile lockfile = tuned_for(best, {8, 4096, 64});
  const auto settled = [&](const Config& config) {
    return config_text(settle(config, source_of(config), {8, 4096, 64}, h200, lockfile).config);
  };
  Config other = training;
  other.sram = 100000;  // in the text
  EXPECT_NE(settled(other), config_text(best));
  other = training;
  other.pass = "forward";
  EXPECT_NE(settled(other), config_text(best));
}

// Settings of a recurrence that no lockfile has, with heads of so many keys and values.
Config untuned(LaunchSize size, int head = 64, const char* pass = "both", const char* mma = "f16",
               const Compiles& compiles = can_be_lowered) {
  const Config config{.key_dim = head, .value_dim = head, .mma = mma, .pass = pass};
  return settle(config, source_of(config), size, h200, Lockfile{}, compiles).config;
}

TEST(Settings, CutSequencesWhereThereAreFew) {
  EXPECT_EQ(untuned({8, 4096, 64}).segments, 0);
  EXPECT_EQ(untuned({1, 4096, 64}, 64, "forward").segments, 0);
  EXPECT_EQ(untuned({1, 4096, 16}).segments, 8);  // with teams
  EXPECT_EQ(untuned({1, 4096, 16}).backward_segments, 8);
  EXPECT_EQ(untuned({1, 4096, 16}, 64, "both", "bf16").segments, 8);
  EXPECT_EQ(untuned({1, 32768, 8}).segments, 33);                // two blocks a multiprocessor
  EXPECT_EQ(untuned({1, 128, 1}).segments, 1);                   // nothing to share out
  EXPECT_EQ(untuned({1, 4096, 32}, 64, "forward").segments, 4);  // with teams
  EXPECT_EQ(untuned({1, 2048, 32}, 64, "forward").cluster, 2);   // as fast as 8 segments
  Config given = training;
  given.segments = 1;
  EXPECT_EQ(settle(given, source_of(given), {1, 4096, 16}, h200, Lockfile{}).config.segments, 1);
}

// Teams, blocks of a cluster and segments of the forward kernel, and segments of the backward kernel.
using Few = std::array<int, 4>;

Few few_of(const Config& config) { return {config.teams, config.cluster, config.segments, config.backward_segments}; }

Few few_wide(LaunchSize size, const char* pass, int head = 128, const char* mma = "f16") {
  return few_of(untuned(size, head, pass, mma));
}

// Each key of rwkv6 has a factor of its own.
Few few_of_factors(LaunchSize size, const char* pass, int head = 128) {
  const Config config{.key_dim = head, .value_dim = head, .mma = "f16", .pass = pass};
  const Source source{Stage::rec, rec_text(rwkv6(), config)};
  return few_of(settle(config, source, size, h200, Lockfile{}).config);
}

// Two teams of a cluster's block have no room for rwkv7, but one has.
TEST(Settings, OfFewWideHeadsTakeClustersOrSegments) {
  EXPECT_EQ(few_wide({1, 2048, 64}, "forward"), (Few{1, 2, 1, 0}));
  EXPECT_EQ(few_wide({1, 2048, 64}, "both"), (Few{1, 2, 1, 2}));
  EXPECT_EQ(few_wide({1, 4096, 32}, "forward"), (Few{2, 1, 4, 0}));
  EXPECT_EQ(few_wide({1, 2048, 32}, "forward"), (Few{1, 2, 1, 0}));
  EXPECT_EQ(few_wide({1, 512, 32}, "both"), (Few{1, 2, 1, 4}));
  EXPECT_EQ(few_wide({1, 32768, 8}, "both"), (Few{2, 1, 16, 16}));
  EXPECT_EQ(few_wide({1, 4096, 8}, "both"), (Few{2, 1, 11, 16}));
  EXPECT_EQ(few_wide({1, 4096, 8}, "forward", 96), (Few{2, 2, 8, 0}));
  EXPECT_EQ(few_wide({1, 2048, 8}, "forward"), (Few{2, 1, 8, 0}));
  EXPECT_EQ(few_wide({1, 128, 8}, "forward"), (Few{1, 2, 1, 0}));
  EXPECT_EQ(few_wide({1, 2048, 64}, "forward", 128, "bf16"), (Few{1, 2, 1, 0}));
  EXPECT_EQ(few_wide({8, 2048, 64}, "forward", 256), (Few{1, 2, 0, 0}));  // however many
}

// As many segments as multiprocessors have room for, not a power of two of them. Fewer where the longest segment stays
// as long: 994 tokens are 16 groups of 64 between saved states.
TEST(Settings, OfFewHeadsTakeAnyNumberOfSegments) {
  EXPECT_EQ(few_wide({1, 8192, 12}, "both"), (Few{2, 1, 11, 11}));
  EXPECT_EQ(few_wide({1, 8192, 24}, "forward"), (Few{2, 1, 5, 0}));
  EXPECT_EQ(few_wide({1, 4096, 20}, "forward", 96), (Few{2, 2, 3, 0}));
  EXPECT_EQ(few_wide({1, 4096, 20}, "forward"), (Few{2, 1, 5, 0}));  // six would be too short
  EXPECT_EQ(few_wide({1, 2600, 20}, "forward", 64), (Few{3, 0, 5, 0}));
  EXPECT_EQ(few_wide({1, 600, 20}, "forward", 32), (Few{2, 0, 6, 0}));
  EXPECT_EQ(few_wide({1, 4096, 1}, "both", 64), (Few{2, 0, 24, 24}));
  EXPECT_EQ(few_wide({1, 512, 12}, "both", 32), (Few{2, 0, 8, 8}));
  EXPECT_EQ(few_wide({1, 2048, 16}, "both", 32), (Few{2, 0, 16, 16}));
  EXPECT_EQ(few_wide({1, 512, 12}, "both", 64), (Few{3, 2, 1, 4}));
  EXPECT_EQ(few_wide({4, 2048, 12}, "both", 64), (Few{3, 2, 1, 5}));  // two blocks a multiprocessor
  EXPECT_EQ(few_wide({1, 4096, 64}, "both", 64), (Few{3, 2, 1, 4}));
  EXPECT_EQ(few_wide({1, 994, 10}, "both").at(3), 8);
  EXPECT_EQ(few_of_factors({1, 2048, 20}, "forward"), (Few{2, 1, 6, 0}));
  EXPECT_EQ(few_of_factors({1, 2048, 20}, "both", 64), (Few{2, 0, 13, 13}));
  EXPECT_EQ(few_of_factors({1, 1024, 24}, "forward", 64), (Few{3, 0, 5, 0}));
  EXPECT_EQ(few_wide({1, 8192, 24}, "forward", 64), (Few{3, 0, 5, 0}));
  EXPECT_EQ(few_wide({1, 2048, 24}, "forward", 64), (Few{3, 2, 0, 0}));
  EXPECT_EQ(few_wide({1, 8192, 24}, "both", 32), (Few{2, 0, 11, 11}));
  EXPECT_EQ(few_wide({1, 8192, 24}, "both", 64), (Few{2, 0, 11, 11}));  // two blocks a multiprocessor
  EXPECT_EQ(few_wide({1, 2048, 24}, "both", 64), (Few{2, 0, 5, 5}));
  EXPECT_EQ(few_wide({1, 4096, 32}, "both", 64), (Few{2, 0, 8, 8}));
  EXPECT_EQ(few_wide({1, 2048, 4}, "both", 64), (Few{2, 0, 17, 17}));
  EXPECT_EQ(few_wide({1, 600, 16}, "forward", 32), (Few{2, 0, 8, 0}));  // 144 blocks would share 12 multiprocessors
}

// A state that decays by a factor for each key, which is a parameter.
Few few_of_decays(double steepest, LaunchSize size, Config config = {}) {
  const int values = config.value_dim = size.batches > 1 ? 64 : 128;
  config.key_dim = 128;
  const Source source{Stage::rec, rec_text(recurrence("decays",
                                                      [=](Recurrence& op) {
                                                        Dim K = op.key_dim(128), V = op.value_dim(values);
                                                        auto [q, k] = op.inputs(K, bf16, "q", "k");
                                                        auto v = op.input("v", V, bf16);
                                                        auto g = op.parameter("g", K, f32).in(steepest, 0);
                                                        op.compute(f16);
                                                        auto S = op.state("S", V, K, f32);
                                                        auto next = S * diag(exp(g)) + outer(v, k);
                                                        op.update(S, next);
                                                        op.output("o", dot(next, q), bf16);
                                                      }),
                                           config)};
  const Config chosen = settle(config, source, size, h200, Lockfile{}).config;
  return {chosen.chunk, chosen.teams, chosen.cluster, chosen.segments};
}

// A state of 128 keys that decays by a number for each token, with gradients.
Config decayed_by_numbers(LaunchSize size, int values) {
  const Config config{.key_dim = 128, .value_dim = values, .mma = "f16", .pass = "both"};
  const auto numbers = recurrence("numbers", [=](Recurrence& op) {
    Dim K = op.key_dim(128), V = op.value_dim(values);
    auto [q, k] = op.inputs(K, bf16, "q", "k");
    auto v = op.input("v", V, bf16);
    auto g = op.input("g", scalar, f32).in(-1e6, 0);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto next = exp(g) * S + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, q), bf16);
  });
  return settle(config, {Stage::rec, rec_text(numbers, config)}, size, h200, Lockfile{}).config;
}

// Three teams have registers enough for what they prepare of such decays.
TEST(Settings, OfDecaysByNumbersHaveThreeTeamsWithGradients) {
  const LaunchSize size{4, 2048, 32};
  EXPECT_EQ(decayed_by_numbers(size, 128).teams, 3);
  EXPECT_EQ(decayed_by_numbers(size, 128).save_every, 64);
  EXPECT_EQ(untuned(size, 128).teams, 2);
  EXPECT_EQ(decayed_by_numbers({4, 100, 32}, 128).teams, 2);
  EXPECT_EQ(decayed_by_numbers(size, 64).save_every, 32);
}

// As without gradients, where each block of the forward kernel has a multiprocessor for itself.
TEST(Settings, OfNarrowHeadsHaveFourTeamsWithGradients) {
  const Config one = untuned({4, 2048, 32}), two = untuned({8, 2048, 32}), early = untuned({4, 100, 32});
  EXPECT_EQ(one.teams, 4);
  EXPECT_EQ(one.blocks, 1);
  EXPECT_EQ(one.backward_blocks, 2);
  EXPECT_EQ(one.save_every, 32);
  EXPECT_EQ(two.teams, 2);
  EXPECT_EQ(two.blocks, 2);
  EXPECT_EQ(early.teams, 2);
}

// Settings of rwkv7 with heads of 128, of which kernels like those alone have room.
Few few_where(const Compiles& compiles, LaunchSize size, const char* pass) {
  return few_of(untuned(size, 128, pass, "f16", compiles));
}

TEST(Settings, OfPartsWithoutRoomForTeamsHaveSegments) {
  const auto in_parts = [](const Source&, const Config& config) {
    return config.parts == 2 && config.teams < 2 && config.backward_teams < 2;
  };
  EXPECT_EQ(few_where(in_parts, {1, 2048, 32}, "both"), (Few{1, 2, 1, 2}));
  EXPECT_EQ(few_where(in_parts, {1, 4096, 20}, "both"), (Few{0, 0, 3, 3}));
  EXPECT_EQ(few_where(in_parts, {1, 512, 16}, "both"), (Few{0, 0, 4, 4}));
  EXPECT_EQ(few_where(in_parts, {2, 2048, 32}, "both"), (Few{0, 0, 0, 0}));
}

// Backward kernels have room for one team alone.
TEST(Settings, OfWholeHeadsHaveSegmentsOfSingleTeams) {
  const auto one_team = [](const Source&, const Config& config) { return config.backward_teams == 1; };
  EXPECT_EQ(few_where(one_team, {1, 2048, 32}, "both"), (Few{2, 2, 1, 4}));
  EXPECT_EQ(few_where(one_team, {1, 2048, 8}, "both"), (Few{2, 2, 8, 16}));
}

TEST(Settings, OfSingleTeamsHaveSegmentsOfClusters) {
  const auto one_team = [](const Source&, const Config& config) { return config.teams < 2; };
  EXPECT_EQ(few_where(one_team, {1, 8192, 8}, "forward"), (Few{1, 2, 8, 0}));
  EXPECT_EQ(few_where(one_team, {1, 8192, 32}, "forward"), (Few{1, 2, 1, 0}));
}

// 208 values are 13 times 16, and 240 are 15 times.
TEST(Settings, OfHeadsWithoutRoomHaveAnyNumberOfParts) {
  EXPECT_EQ(untuned({1, 4096, 16}, 208).parts, 13);
  EXPECT_EQ(untuned({1, 4096, 16}, 240).parts, 3);
}

TEST(Settings, GoWithoutGuardsWhereTheyHaveNoRoom) {
  const auto unguarded = [](const Source&, const Config& config) { return config.scales != "guarded"; };
  EXPECT_EQ(few_where(unguarded, {1, 8192, 12}, "both"), (Few{2, 1, 11, 11}));
}

// A segment without tokens has nothing to do.
TEST(Settings, CutSequencesIntoNoMoreSegmentsThanUnits) {
  for (const char* mma : {"f16", "bf16x3", "f32"})
    for (const int head : {16, 32, 64, 128})
      for (const std::int64_t tokens : {1, 16, 31, 64, 100, 300})
        for (const std::int64_t heads : {1, 8, 33, 67}) {
          const Config forward = untuned({1, tokens, heads}, head, "forward", mma),
                       both = untuned({1, tokens, heads}, head, "both", mma);
          const int distance = std::max(both.save_every, 16);
          EXPECT_LE(std::max(forward.segments, 1), (tokens + 15) / 16) << tokens << ' ' << heads << ' ' << head;
          EXPECT_LE(std::max(both.backward_segments, 1), (tokens + distance - 1) / distance)
              << mma << ' ' << tokens << ' ' << heads << ' ' << head;
        }
}

TEST(Settings, OfNoHeadsAreThereToo) {
  for (const char* pass : {"forward", "both"}) {
    for (const int head : {32, 64, 128}) {
      EXPECT_NO_THROW(untuned({1, 4096, 0}, head, pass));
      EXPECT_NO_THROW(untuned({0, 4096, 4}, head, pass));
      EXPECT_NO_THROW(untuned({1, 0, 4}, head, pass));
    }
  }
}

TEST(Settings, OfMildDecaysHaveChunksOf32) {
  const LaunchSize few{1, 4096, 16};
  EXPECT_EQ(few_of_decays(-0.1, few), (Few{32, 2, 1, 8}));
  EXPECT_EQ(few_of_decays(-0.1, few, {.mma = "bf16"}), (Few{32, 2, 1, 8}));
  EXPECT_EQ(few_of_decays(-0.1, {1, 1024, 16}), (Few{0, 2, 1, 8}));
  EXPECT_EQ(few_of_decays(-0.1, {2, 2048, 32}), (Few{32, 2, 2, 1}));
  EXPECT_EQ(few_of_decays(-0.1, few, {.pass = "both"}).at(0), 0);
  EXPECT_EQ(few_of_decays(-0.1, few, {.scales = "always"}).at(0), 0);
  EXPECT_EQ(few_of_decays(-0.6, few, {.mma = "bf16"}).at(0), 0);  // f16 does not hold them
  EXPECT_EQ(few_of_decays(-1, few).at(0), 0);                     // e^-16 over half a chunk
  EXPECT_EQ(few_of_decays(-1e6, few).at(0), 0);                   // blocks might be refused
}

TEST(Settings, OfFewHeadsWithFactorsTakeShortSegments) {
  EXPECT_EQ(few_of_factors({1, 2048, 8}, "forward"), (Few{2, 1, 16, 0}));
  EXPECT_EQ(few_of_factors({1, 1024, 8}, "both"), (Few{2, 1, 16, 16}));
  EXPECT_EQ(few_of_factors({1, 256, 12}, "forward"), (Few{1, 2, 1, 0}));
  EXPECT_EQ(few_of_factors({1, 256, 12}, "both"), (Few{2, 2, 1, 4}));
  EXPECT_EQ(few_of_factors({1, 2048, 32}, "forward", 64), (Few{2, 0, 8, 0}));  // two blocks a multiprocessor
  EXPECT_EQ(few_of_factors({1, 2048, 32}, "forward", 32), (Few{2, 0, 8, 0}));
  EXPECT_LE(few_of_factors({1, 512, 32}, "forward", 32).at(2), 1);
}

TEST(Settings, HaveTeamsInLongSegments) {
  const Config narrow = untuned({1, 32768, 8}, 64, "forward"), wide = untuned({1, 32768, 8}, 128, "forward");
  EXPECT_EQ(narrow.segments, 8);
  EXPECT_EQ(narrow.teams, 3);
  EXPECT_EQ(narrow.cluster, 2);
  EXPECT_EQ(wide.segments, 16);
  EXPECT_EQ(wide.teams, 2);
}

TEST(Settings, OfManyPackedSequencesFillTheGpuTwice) {
  const auto packed = [](LaunchSize size, std::int64_t sequences, const char* pass = "forward") {
    const Config config{.key_dim = 64, .value_dim = 64, .mma = "f16", .pass = pass};
    return settle(config, source_of(config), size, h200, shipped_lockfile(), can_be_lowered, sequences).config;
  };
  EXPECT_EQ(packed({1, 32768, 32}, 64).segments, 4);
  EXPECT_EQ(packed({1, 32768, 32}, 64).blocks, 2);
  const std::string of_one = config_key(packed({1, 32768, 32}, 1));
  EXPECT_NE(config_key(packed({1, 32768, 32}, 64)), of_one);
  EXPECT_EQ(config_key(packed({1, 32768, 32}, 8)), of_one);  // 256 pairs
  EXPECT_EQ(config_key(packed({1, 32768, 32}, 64, "both")), config_key(packed({1, 32768, 32}, 1, "both")));
}

// Many sequences of wide heads fill the GPU as many batches do.
TEST(Settings, OfPackedWideHeadsAreThoseOfBatches) {
  const auto settings = [](LaunchSize size, std::int64_t sequences) {
    const Config config{.key_dim = 128, .value_dim = 128, .mma = "f16", .pass = "both"};
    return config_key(settle(config, source_of(config), size, h200, Lockfile{}, can_be_lowered, sequences).config);
  };
  EXPECT_EQ(settings({1, 32768, 32}, 16), settings({16, 2048, 32}, 1));
  EXPECT_NE(settings({1, 32768, 32}, 16), settings({1, 32768, 32}, 1));
  EXPECT_EQ(settings({1, 7, 32}, 16), settings({16, 1, 32}, 1));
}

TEST(Settings, HaveGuardsWhereSequencesAreLong) {
  EXPECT_EQ(untuned({8, 4096, 64}).scales, "guarded");
  EXPECT_EQ(untuned({8, 32, 64}, 64, "forward").scales, "guarded");
  EXPECT_EQ(untuned({8, 31, 64}, 64, "forward").scales, "");
  EXPECT_EQ(untuned({1, 1, 1}).scales, "guarded");
}

TEST(Settings, HaveNoTeamsWhereSequencesAreShort) {
  EXPECT_EQ(untuned({8, 511, 64}).teams, 0);
  EXPECT_EQ(untuned({1, 63, 64}).teams, 0);
  EXPECT_GT(untuned({1, 64, 64}).teams, 0);
  EXPECT_GT(untuned({8, 64, 32}, 64, "forward").teams, 0);  // two blocks a multiprocessor
  EXPECT_EQ(untuned({16, 256, 32}, 64, "forward").teams, 0);
  EXPECT_GT(untuned({8, 384, 32}, 128, "forward").teams, 0);
  EXPECT_EQ(untuned({8, 383, 32}, 128, "forward").teams, 0);
}

TEST(Settings, PrepareChunksInTeamsWhereHeadsFillTheGpu) {
  const Config few = untuned({2, 2048, 32}, 64, "forward"), some = untuned({4, 2048, 32}, 64, "forward"),
               many = untuned({8, 4096, 64}), wide = untuned({4, 2048, 32}, 128);
  EXPECT_EQ(few.cluster, 2);
  EXPECT_EQ(some.teams, 4);
  EXPECT_EQ(many.backward_teams, 2);
  EXPECT_EQ(many.save_every, 32);
  EXPECT_EQ(wide.backward_teams, 2);
  EXPECT_EQ(wide.save_every, 64);
  EXPECT_EQ(untuned({4, 2048, 32}, 64, "forward", "bf16").teams, 4);
}

TEST(Settings, OfContractionsInF32HaveTeamsWithGradients) {
  const Config many = untuned({8, 4096, 32}, 64, "both", "f32"), few = untuned({1, 2048, 8}, 64, "both", "f32");
  EXPECT_EQ(many.backward_teams, 2);
  EXPECT_EQ(many.saved, "");
  EXPECT_EQ(few.segments, 16);
  EXPECT_EQ(few.backward_segments, 16);
  EXPECT_EQ(few.backward_teams, 2);
  EXPECT_EQ(untuned({1, 256, 4}, 64, "both", "f32").segments, 8);
  EXPECT_EQ(untuned({1, 994, 10}, 96, "both", "f32").segments, 8);  // 16 groups of 64 tokens between saved states
  EXPECT_EQ(few_wide({1, 1024, 12}, "forward", 128, "bf16x3"), (Few{1, 2, 0, 0}));
  EXPECT_EQ(few_wide({4, 2048, 32}, "forward", 128, "bf16x3"), (Few{1, 2, 0, 0}));
  EXPECT_EQ(few_wide({1, 4096, 4}, "forward", 128, "bf16x3").at(2), 32);
  EXPECT_EQ(few_wide({4, 2048, 32}, "forward", 64, "bf16x3"), (Few{1, 2, 0, 0}));
  EXPECT_EQ(few_wide({1, 2048, 64}, "both", 64, "f32"), (Few{2, 0, 2, 2}));
}

TEST(Settings, OfFewNarrowHeadsHaveTeamsInSegments) {
  for (const char* mma : {"f16", "bf16"}) {
    const Config both = untuned({1, 2048, 8}, 64, "both", mma);
    EXPECT_EQ(both.segments, 16) << mma;
    EXPECT_EQ(both.backward_teams, 2) << mma;
  }
}

TEST(Settings, DealValuesToPartsWhereNoBlockHasRoom) {
  EXPECT_EQ(untuned({4, 2048, 16}, 256, "both").parts, 2);
  EXPECT_EQ(untuned({1, 2048, 8}, 128, "both", "f32").parts, 0);
}

// Two parts of 192 keys have registers for two states. Heads of 256 have them in no part, but four parts of few heads
// leave fewer multiprocessors idle. Segments fill the rest.
TEST(Settings, OfVeryWideHeadsHavePartsForRegisters) {
  EXPECT_EQ(untuned({4, 2048, 16}, 192, "both").parts, 2);
  EXPECT_EQ(untuned({4, 2048, 16}, 128, "both").parts, 0);
  const Config few = untuned({1, 4096, 8}, 256, "both"), narrower = untuned({1, 4096, 8}, 192, "both");
  EXPECT_EQ(few.parts, 4);
  EXPECT_EQ(few.segments, 1);
  EXPECT_EQ(few.backward_segments, 4);
  EXPECT_EQ(narrower.parts, 2);
  EXPECT_EQ(narrower.backward_segments, 8);
  EXPECT_EQ(untuned({1, 2048, 32}, 256, "both").backward_segments, 0);
  EXPECT_EQ(untuned({1, 2048, 8}, 256, "forward").parts, 2);
  EXPECT_EQ(untuned({1, 2048, 8}, 192, "forward").parts, 0);
  EXPECT_EQ(untuned({1, 16, 8}, 256, "forward").parts, 0);
}

TEST(Settings, AreTheNextOnesWhereAScheduleIsRefused) {
  const auto refuses_teams = [](const Source&, const Config& config) { return config.teams == 0; };
  const auto refuses_all = [](const Source&, const Config&) { return false; };
  const auto settled = [](const Compiles& compiles) {
    return settle(training, source_of(training), {8, 4096, 64}, h200, Lockfile{}, compiles).config;
  };
  EXPECT_EQ(config_text(settled(refuses_teams)), R"({"saved":"f16","scales":"guarded"})");
  EXPECT_EQ(config_key(settled(refuses_all)), config_key(training));
}

TEST(Settings, ShippedOnesAreWhole) {
  for (const LockEntry& entry : shipped_lockfile().entries()) {
    EXPECT_TRUE(within_bounds(entry.errors)) << subject_text(entry);
    EXPECT_GE(entry.evidence.candidates, 2) << subject_text(entry);
    Config config = entry.config;
    config.pass = entry.shape_class.pass;
    EXPECT_NO_THROW(check_config(config)) << subject_text(entry);
  }
}

}  // namespace
}  // namespace wkvc
