#include "autotune/lockfile/config_json.h"

#include "tests/autotune/samples.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

using nlohmann::json;

TEST(ConfigJson, HoldsOnlyWhatIsSet) {
  EXPECT_EQ(config_text({}), "{}");
  EXPECT_EQ(config_text(settings(32)), R"({"chunk":32})");
  EXPECT_EQ(config_text(settings(16, 64, "f16", "bf16", 2)),
            R"({"mma":"bf16","chunk":16,"save_every":64,"saved":"f16","blocks":2})");
  Config others;
  others.io = "f32";
  others.arch = "sm_100a";
  EXPECT_EQ(config_text(others), "{}");
}

TEST(ConfigJson, RoundTrips) {
  for (const Config& config :
       {settings(0), settings(48), settings(16, 64, "f16", "bf16", 2), settings(0, 32), Config{.segments = 8},
        Config{.segments = 1, .backward_segments = 4}, Config{.teams = 2}, Config{.backward_teams = 2},
        Config{.teams = 2, .rounds = 2, .cluster = 2}, Config{.scales = "guarded"},
        Config{.teams = 2, .rounds = 2, .cluster = 2, .scales = "guarded"}}) {
    EXPECT_EQ(config_text(config_from(json::parse(config_text(config)), "it")), config_text(config));
  }
}

TEST(ConfigJson, IsReadable) {
  EXPECT_EQ(config_label({}), "defaults");
  EXPECT_EQ(config_label(settings(16, 64, "f16", "bf16", 2)), "mma bf16, chunk 16, save every 64, saved f16, blocks 2");
  EXPECT_EQ(config_label({.segments = 8}), "segments 8");
  EXPECT_EQ(config_label({.segments = 1, .backward_segments = 4}), "segments 1, backward segments 4");
  EXPECT_EQ(config_label({.teams = 2}), "teams 2");
  EXPECT_EQ(config_label({.backward_teams = 2}), "backward teams 2");
  EXPECT_EQ(config_label({.teams = 2, .rounds = 2, .cluster = 4}), "teams 2, rounds 2, cluster 4");
}

TEST(ConfigJson, RefusesMistakes) {
  const auto refused = [](const char* text, const std::vector<std::string>& parts) {
    SCOPED_TRACE(text);
    expect_error([&] { config_from(json::parse(text), "a.json: entry 2"); }, parts);
  };
  refused("[]", {"a.json: entry 2 is a JSON array", "expected an object"});
  refused(R"({"chunks":16})", {"a.json: entry 2", "unknown key \"chunks\"", "save_every"});
  refused(R"({"io":"f32"})", {"unknown key \"io\""});
  refused(R"({"chunk":"16"})", {"\"chunk\" is \"16\"", "an integer: a multiple of 16 from 16 to 256"});
  refused(R"({"chunk":16.0})", {"\"chunk\" is 16.0", "an integer"});
  refused(R"({"chunk":17})", {"\"chunk\" is 17", "a multiple of 16"});
  refused(R"({"chunk":0})", {"\"chunk\" is 0", "from 16"});
  refused(R"({"chunk":4294967312})", {"\"chunk\" is 4294967312", "to 256"});
  refused(R"({"save_every":-16})", {"\"save_every\" is -16"});
  refused(R"({"chunk":32,"save_every":48})", {"\"save_every\" is 48", "a multiple of the chunk, 32"});
  refused(R"({"segments":0})", {"\"segments\" is 0", "an integer: 1 to 256"});
  refused(R"({"segments":257})", {"\"segments\" is 257"});
  refused(R"({"teams":16})", {"\"teams\" is 16", "1 to 15"});
  refused(R"({"rounds":3})", {"\"rounds\" is 3", "1 or 2"});
  refused(R"({"cluster":3})", {"\"cluster\" is 3", "1, 2, 4 or 8"});
  refused(R"({"scales":"never"})", {"\"scales\" is \"never\"", "always or guarded"});
  refused(R"({"backward_teams":0})", {"\"backward_teams\" is 0", "1 to 15"});
  refused(R"({"mma":"f64"})", {"\"mma\" is \"f64\"", "f16 or bf16 or bf16x3 or f32"});
  refused(R"({"mma":16})", {"\"mma\" is 16", "a string"});
  refused(R"({"saved":""})", {"\"saved\" is \"\"", "f16 or bf16 or f32"});
  refused(R"({"blocks":33})", {"\"blocks\" is 33", "1 to 32"});
  refused(R"({"blocks":true})", {"\"blocks\" is true"});
}

}  // namespace
}  // namespace wkvc
