// The parts of a head that nobody has chosen: as few as leave a block room.
#include <gtest/gtest.h>

#include "dsl/builtin.h"
#include "dsl/wkvc.h"
#include "runtime/manifest/joint_manifest.h"
#include "tests/expect_error.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

std::string lowered(const Definition& definition, Stage stage, const Config& config) {
  return lower_to(rec_source(definition, config), stage, config);
}

Manifest manifest_of(const Definition& definition, const Config& config) {
  return joint_manifest(manifests_from(lowered(definition, Stage::cuda, config)));
}

// README.md's range of heads. Narrower storage and fewer keys take less.
TEST(DefaultParts, HaveRoomForEveryHead) {
  for (const Definition& definition : {rwkv6(), rwkv7()})
    for (const int keys : {240, 256})
      for (int values = 16; values <= 512; values += 16) {
        const Config config{.key_dim = keys, .value_dim = values, .io = "f32", .pass = "both"};
        const Manifest manifest = manifest_of(definition, config);
        EXPECT_EQ(manifest.head_values(), values);
      }
}

TEST(DefaultParts, AreAsFewAsHaveRoom) {
  const auto parts = [](int head, const char* pass, const char* io = "bf16") {
    return manifest_of(rwkv7(), {.key_dim = head, .value_dim = head, .io = io, .pass = pass}).parts;
  };
  EXPECT_EQ(parts(192, "both"), 1);
  EXPECT_EQ(parts(208, "both"), 13);  // of 16 values each: 208 are 13 times 16
  EXPECT_EQ(parts(224, "both"), 2);
  EXPECT_EQ(parts(240, "both"), 3);
  EXPECT_EQ(parts(256, "both", "f32"), 2);
  EXPECT_EQ(parts(256, "forward"), 1);
  EXPECT_EQ(manifest_of(rwkv6(), {.key_dim = 256, .value_dim = 256, .pass = "both"}).parts, 4);
}

TEST(DefaultParts, AreThoseOfEveryStage) {
  const Config config{.key_dim = 256, .value_dim = 256, .pass = "both"};
  Config given = config;
  given.parts = 2;
  const std::string cuda = lowered(rwkv7(), Stage::cuda, config);
  EXPECT_EQ(cuda, lowered(rwkv7(), Stage::cuda, given));
  for (const Stage stage : {Stage::chunk, Stage::placed, Stage::warp}) {
    const std::string text = lowered(rwkv7(), stage, config);
    EXPECT_EQ(text, lowered(rwkv7(), stage, given));
    EXPECT_EQ(lower_to(source_from(text), Stage::cuda, stage == Stage::chunk ? Config{.pass = "both"} : Config{}),
              cuda);
  }
  EXPECT_EQ(dump_after(rec_source(rwkv7(), config), "merge-common", config),
            dump_after(rec_source(rwkv7(), given), "merge-common", given));
}

TEST(DefaultParts, LeaveWhatIsGivenAlone) {
  const Config whole{.key_dim = 256, .value_dim = 256, .parts = 1, .pass = "both"};
  expect_contains(user_error_of([&] { lowered(rwkv7(), Stage::cuda, whole); }), "more --parts");
  Config teams = whole;
  teams.parts = 0;
  teams.teams = 2;
  expect_contains(user_error_of([&] { lowered(rwkv7(), Stage::cuda, teams); }), "more --parts");
  const Config values{.key_dim = 64, .value_dim = 272, .blocks = 1};
  expect_contains(user_error_of([&] { lowered(rwkv7(), Stage::cuda, values); }), "give --parts 17");
  expect_contains(user_error_of([] { lowered(rwkv7(), Stage::cuda, {.sram = 1000}); }), "more --parts");
}

TEST(DefaultParts, AdviseNoMorePartsThanThereAre) {
  const Config config{.key_dim = 256, .value_dim = 256, .io = "f32", .mma = "f32", .pass = "both"};
  const std::string error = user_error_of([&] { lowered(rwkv6(), Stage::cuda, config); });
  expect_contains(error, "head 256x256 in 16 parts needs ");
  expect_contains(error,
                  "use a smaller --head, a narrower --io, a narrower --mma or log decays that are declared near 0, "
                  ".in(lo, 0).");
}

// An earlier stage has no places and so no lack of room.
TEST(DefaultParts, LeaveEarlierStagesToThoseWithoutRoom) {
  const Config config{.key_dim = 256, .value_dim = 256, .io = "f32", .mma = "f32", .pass = "both"};
  EXPECT_FALSE(lowered(rwkv6(), Stage::chunk, config).empty());
  EXPECT_FALSE(user_error_of([&] { lowered(rwkv6(), Stage::placed, config); }).empty());
}

}  // namespace
}  // namespace wkvc::test
