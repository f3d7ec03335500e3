// Stages that someone edited: a text either lowers, or a UserError says what is wrong with it.
// More than these: --gtest_filter='*Hostile*' --gtest_shuffle --gtest_repeat=50 (each repetition has its own seed).
#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/expect_error.h"
#include "tests/lower/mutate.h"

namespace wkvc::test {
namespace {

Config config_of(const char* mma, const char* pass = "forward") {
  Config config;
  config.pass = pass;
  config.key_dim = 32;
  config.value_dim = 48;
  config.mma = mma;
  return config;
}

std::string stage_text(const Definition& definition, Stage stage, const Config& config) {
  return lower_to(source_from(rec_text(definition, config)), stage, config);
}
std::string stage_text(const Definition& definition, Stage stage, const char* mma = "f16",
                       const char* pass = "forward") {
  return stage_text(definition, stage, config_of(mma, pass));
}

const std::vector<Definition> builtins = {rwkv7(), rwkv7_logw(), rwkv6()};

class Stages : public testing::TestWithParam<Stage> {};

TEST_P(Stages, PrintAsTheyWereRead) {
  for (const Definition& definition : builtins)
    for (const char* mma : {"f16", "bf16", "bf16x3", "f32"}) {
      const std::string text = stage_text(definition, GetParam(), mma);
      EXPECT_EQ(lower_to(source_from(text), GetParam(), {}), text) << definition.name;
    }
}

TEST_P(Stages, LowerToTheSameKernelWhenReadAgain) {
  for (const Definition& definition : builtins)
    for (const char* mma : {"f16", "bf16", "bf16x3", "f32"}) {
      const std::string text = stage_text(definition, GetParam(), mma);
      EXPECT_EQ(lower_to(source_from(text), Stage::cuda, {}), stage_text(definition, Stage::cuda, mma))
          << definition.name << " " << mma;
    }
}

// Texts of both passes say themselves that they are.
TEST_P(Stages, OfBothPassesLowerToTheSameKernels) {
  for (const Definition& definition : builtins) {
    const std::string text = stage_text(definition, GetParam(), "f16", "both");
    EXPECT_EQ(lower_to(source_from(text), GetParam(), {}), text) << definition.name;
    EXPECT_EQ(lower_to(source_from(text), Stage::cuda, {}), stage_text(definition, Stage::cuda, "f16", "both"))
        << definition.name;
  }
}

// Whether the text lowers to a kernel.
bool lowers(const std::string& text, const Config& config) {
  try {
    lower_to(source_from(text), Stage::cuda, config);
    return true;
  } catch (const UserError&) {
    return false;
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\nin\n" << text;
    return false;
  }
}

Config of_teams(Config config) {
  (config.pass == "forward" ? config.teams : config.backward_teams) = 3;
  return config;
}

TEST_P(Stages, HostileTextsAreRefused) {
  std::mt19937 random(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
  const Config forward = config_of("f16"), backward = config_of("f16", "backward");
  for (const Config& config : {forward, backward, of_teams(forward), of_teams(backward)}) {
    int refused = 0;
    for (const Definition& definition : builtins) {
      const std::string text = stage_text(definition, GetParam(), config);
      const Config given = GetParam() == Stage::chunk ? config : Config{};  // later texts say it themselves
      for (int i = 0; i < 100; ++i) refused += !lowers(mutated(text, random), given);
    }
    EXPECT_GT(refused, 150) << config.pass;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Stages, testing::Values(Stage::chunk, Stage::placed, Stage::warp), [](const auto& stage) {
  return std::string(stage_names[static_cast<std::size_t>(stage.param)]);
});

TEST(Sources, HoldNothingButTheirStage) {
  auto expect_refused = [](const std::string& text, const std::string& head) {
    for (Stage stage : {source_from(text).stage, Stage::cuda})
      expect_contains(user_error_of([&] { lower_to(source_from(text), stage, {}); }), "holds nothing but " + head);
  };
  expect_refused("// chunk.program", "chunk.program");
  expect_refused("// warp.kernel", "warp.kernel");
  expect_refused("module {} // chunk.program", "chunk.program");
  expect_refused(stage_text(rwkv6(), Stage::chunk) + stage_text(rwkv7(), Stage::warp), "chunk.program");
}

TEST(Sources, MayHoldSeveralPrograms) {
  for (Stage stage : {Stage::chunk, Stage::warp}) {
    const std::string cuda =
        lower_to(source_from(stage_text(rwkv6(), stage) + stage_text(rwkv7(), stage)), Stage::cuda, {});
    EXPECT_LT(cuda.find("WKVC_KERNEL(rwkv6_forward"), cuda.find("WKVC_KERNEL(rwkv7_forward"));
    EXPECT_NE(cuda.find("WKVC_KERNEL(rwkv7_forward"), std::string::npos);
  }
}

// The line of `text` that begins like this, without it in the text.
std::string taken(std::string& text, const std::string& start) {
  const std::size_t from = text.find(start), to = text.find('\n', from) + 1;
  const std::string line = text.substr(from, to - from);
  text.erase(from, to - from);
  return line;
}

TEST(Copies, FindMaximaThatAreDeclaredLater) {
  std::string text = stage_text(rwkv7(), Stage::warp);
  const std::string slots = taken(text, "  %k_max = ");
  text.insert(text.find("  warp.copy "), slots);
  expect_contains(lower_to(source_from(text), Stage::cuda, {}), "k_global, k_ring, block.floats(");
}

TEST(Copies, OfOneKindGoTogether) {
  const auto expect_refused = [](const std::string& moved, const std::string& first, const std::string& why) {
    std::string text = stage_text(rwkv7(), Stage::warp);
    const std::string line = taken(text, moved);
    text.insert(text.find(first), line + "    warp.note \"between\"\n");
    expect_contains(user_error_of([&] { lower_to(source_from(text), Stage::cuda, {}); }), why);
  };
  expect_refused("    warp.publish_max %k_raw", "    warp.publish_max %r_raw",
                 "published together, in a row; that of '");
  expect_refused("    warp.copy %k_ring", "    warp.copy %r_ring", "copied together, in a row; that of '");
}

// An operand that other warps read takes the scale of all warps' rows.
TEST(ChunkText, ScalesOfAStateAreSharedWhereOperandsAre) {
  std::string text = stage_text(rwkv7(), Stage::chunk);
  const std::string own = "chunk.round %a_in scale [\"a\"]";
  text.replace(text.find(own), own.size(), "chunk.round %a_in scale [\"S\"]");
  expect_contains(lower_to(source_from(text), Stage::cuda, {}), "block_max(S_max, block)");
}

}  // namespace
}  // namespace wkvc::test
