// What a lockfile settles, and what it leaves alone.
#include "autotune/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autotune/config_json.h"
#include "dsl/builtin.h"
#include "dsl/wkvc.h"
#include "runtime/hash.h"

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
  }
}

}  // namespace
}  // namespace wkvc
