// What a lockfile settles, and what it leaves alone.
#include "autotune/lockfile/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const Settings settings = settle(training, source_of(training), {4, 2048, 64}, h200, tuned_for(best, {8, 4096, 64}));
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
                   .segments = 1,
                   .backward_segments = 4,
                   .save_every = 32,
                   .saved = "f16",
                   .scales = "always",
                   .backward_scales = "guarded"};
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    EXPECT_EQ(is_set(field, all), option.recorded == Recorded::tuned) << field.name;
  });
  const auto lockfile = tuned_for(all, {8, 4096, 64});
  const Settings settings = settle(training, source_of(training), {8, 4096, 64}, h200, lockfile);
  EXPECT_EQ(config_text(settings.config), config_text(all));
  for_each_field([&](const ConfigOption& option, const ConfigField& field) {
    if (option.recorded != Recorded::tuned) return;
    Config given = training;
    copy_field(field, all, given);
    EXPECT_EQ(config_key(settle(given, source_of(training), {8, 4096, 64}, h200, lockfile).config), config_key(given));
  });
}

TEST(Settings, LeaveAloneWhatIsGiven) {
  Config given = training;
  given.save_every = 64;
  const Settings settings = settle(given, source_of(given), {8, 4096, 64}, h200, tuned_for(best, {8, 4096, 64}));
  EXPECT_EQ(config_text(settings.config), config_text(given));
  EXPECT_THAT(settings.because, HasSubstr("given"));
}

TEST(Settings, AreNotThoseOfAnotherTextOrPass) {
  const Lockfile lockfile = tuned_for(best, {8, 4096, 64});
  const auto settled = [&](const Config& config) {
    return config_text(settle(config, source_of(config), {8, 4096, 64}, h200, lockfile).config);
  };
  const std::string untuned = R"({"scales":"guarded"})";
  Config other = training;
  other.sram = 100000;  // in the text
  EXPECT_EQ(settled(other), untuned);
  other = training;
  other.pass = "forward";
  EXPECT_EQ(settled(other), untuned);
}

TEST(Settings, CutSequencesWhereThereAreFew) {
  const Lockfile none;
  const auto segments = [&](LaunchSize size) {
    return settle(training, source_of(training), size, h200, none).config.segments;
  };
  EXPECT_EQ(segments({8, 4096, 64}), 0);
  EXPECT_EQ(segments({1, 4096, 64}), 8);
  EXPECT_EQ(segments({1, 32768, 32}), 16);
  EXPECT_EQ(segments({1, 32768, 1}), 64);
  EXPECT_EQ(segments({1, 128, 1}), 0);  // nothing to share out
  Config given = training;
  EXPECT_EQ(settle(training, source_of(training), {8, 4096, 64}, h200, none).config.scales, "guarded");
  EXPECT_EQ(settle(training, source_of(training), {1, 128, 1}, h200, none).config.scales, "");
  given.segments = 1;
  EXPECT_EQ(settle(given, source_of(given), {1, 4096, 64}, h200, none).config.segments, 1);
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
