// Options of a configuration: their texts, and the table that README has of them.
#include "codegen/config/options.h"

#include <gtest/gtest.h>

#include "codegen/config/config.h"
#include "runtime/base/files.h"
#include "tests/expect_error.h"

namespace wkvc {
namespace {

using test::expect_contains;
using test::user_error_of;

using Given = std::vector<std::pair<const char*, const char*>>;

Config parsed(const Given& given) {
  ConfigOptions options;
  for (const auto& [spelling, text] : given) options[spelling] = text;
  return options.parse();
}

void expect_refused(const Given& given, const char* part) {
  SCOPED_TRACE(part);
  expect_contains(user_error_of([&] { parsed(given); }), part);
}

TEST(Options, SetTheirFields) {
  for (const auto& [spelling, text, key] : std::vector<std::tuple<const char*, const char*, const char*>>{
           {"--head", "64,128", "key_dim 64, value_dim 128"},
           {"--head", "64", "key_dim 64, value_dim 64"},
           {"--io", "f16", "io f16"},
           {"--mma", "bf16", "mma bf16"},
           {"--state", "bf16", "state bf16"},
           {"--state-layout", "kv", "state_layout kv"},
           {"--shared", "r,k", "shared r,k"},
           {"--chunk", "32", "chunk 32"},
           {"--chunk", "auto", ""},
           {"--save-every", "128", "save_every 128"},
           {"--saved", "f16", "saved f16"},
           {"--grad", "r,w", "gradients r,w"},
           {"--grad", "all", ""},
           {"--segments", "1,4", "segments 1, backward_segments 4"},
           {"--teams", "1,2", "teams 1, backward_teams 2"},
           {"--scales", "always,guarded", "scales always, backward_scales guarded"},
           {"--blocks", "auto,2", "backward_blocks 2"},
           {"--sram", "232448", "sram 232448"},
           {"--sram", "227KiB", "sram 232448"},
           {"--sram", "100 KB", "sram 100000"},
           {"--sram", "1B", "sram 1"},
           {"--arch", "sm_90a", ""}}) {
    Config config = parsed({{"--pass", "both"}, {spelling, text}});
    config.pass = "forward";
    EXPECT_EQ(config_key(config), key);
  }
}

TEST(Options, WithoutAnMSayTheSameOfBothPasses) {
  for (const auto& [spelling, value, first, second] :
       std::vector<std::tuple<const char*, const char*, const char*, const char*>>{
           {"--segments", "4", "segments", "backward_segments"},
           {"--teams", "2", "teams", "backward_teams"},
           {"--scales", "guarded", "scales", "backward_scales"},
           {"--blocks", "3", "blocks", "backward_blocks"}}) {
    const std::string forward = fmt::format("{} {}", first, value), backward = fmt::format("{} {}", second, value);
    EXPECT_EQ(config_key(parsed({{spelling, value}})), forward);
    EXPECT_EQ(config_key(parsed({{"--pass", "both"}, {spelling, value}})),
              fmt::format("pass both, {}, {}", forward, backward));
    EXPECT_EQ(config_key(parsed({{"--pass", "backward"}, {spelling, value}})),
              fmt::format("pass backward, {}, {}", forward, backward));
    const std::string pair = fmt::format("{0},{0}", value);
    expect_refused({{spelling, pair.c_str()}},
                   fmt::format("{} N,M is an option of the backward pass: give --pass", spelling).c_str());
  }
}

TEST(Options, AreOfTheirPassOnly) {
  for (const auto& [spelling, text] : Given{{"--save-every", "auto"}, {"--saved", "f32"}, {"--grad", "all"}})
    expect_refused({{spelling, text}}, "is an option of the backward pass");
  for (const char* spelling : {"--rounds", "--cluster"})
    expect_refused({{"--pass", "backward"}, {"--teams", "2"}, {spelling, "1"}}, "is an option of the forward kernel");
}

TEST(Options, RefuseOtherValues) {
  for (const ConfigOption& option : config_options()) {
    for (const char* wrong : {"", "-1", "2.0", "many!", "1,2,3,", "18446744073709551616"}) {
      ConfigOptions options;
      options["--pass"] = "both";
      options[option.spelling] = wrong;
      const bool may_be_name = *wrong != 0 && wrong != std::string_view("1,2,3,");
      if (std::holds_alternative<InputNames>(option.values) && may_be_name) continue;
      expect_contains(user_error_of([&] { options.parse(); }), fmt::format("{} {}: expected ", option.spelling, wrong));
    }
  }
  for (const auto& [spelling, wrong] : Given{{"--teams", "0"},
                                             {"--teams", "16"},
                                             {"--teams", "2,"},
                                             {"--rounds", "3"},
                                             {"--rounds", "2,2"},
                                             {"--cluster", "3"},
                                             {"--cluster", "9"},
                                             {"--segments", "257"},
                                             {"--segments", "4,0"},
                                             {"--scales", "never"},
                                             {"--scales", "Always"},
                                             {"--blocks", "33"},
                                             {"--grad", "r,r"},
                                             {"--chunk", "272"},
                                             {"--mma", "tf32"}})
    expect_refused({{"--pass", "both"}, {spelling, wrong}}, wrong);
}

TEST(Options, TakeGuardsInClusters) {
  const Given cluster{{"--teams", "2"}, {"--rounds", "2"}, {"--cluster", "2"}, {"--scales", "guarded"}};
  EXPECT_EQ(parsed(cluster).scales, "guarded");
}

void expect_no_kernel(const Given& given, const std::string& part) {
  SCOPED_TRACE(part);
  expect_contains(user_error_of([&] { check_config(parsed(given)); }), part);
}

// Each is named with what is left to do, also where another option would ask for more.
TEST(Options, OfChunksAreNothingToSingleTokens) {
  for (const auto& [spelling, value] : Given{{"--segments", "2"},
                                             {"--teams", "2"},
                                             {"--rounds", "2"},
                                             {"--cluster", "2"},
                                             {"--scales", "always"},
                                             {"--sram", "1B"}})
    expect_no_kernel({{"--chunk", "1"}, {spelling, value}},
                     fmt::format("--chunk 1 with {0}: {0} belongs to kernels of chunks; leave one", spelling));
  for (const auto& [spelling, value] : Given{{"--saved", "f16"}, {"--scales", "always,always"}})
    expect_no_kernel({{"--chunk", "1"}, {spelling, value}}, "--chunk 1 has none; leave one of the two options out");
}

// A program may name operands for all its kernels.
TEST(Options, OfOperandsAreNothingToSingleTokens) {
  const Config config = parsed({{"--chunk", "1"}, {"--mma", "f16"}});
  EXPECT_NO_THROW(check_config(config));
  expect_contains(user_error_of([&] { check_operands(config); }), "--chunk 1 with --mma f16: kernels of single tokens");
  EXPECT_NO_THROW(check_operands(parsed({{"--chunk", "1"}, {"--mma", "f32"}})));
  EXPECT_NO_THROW(check_operands(parsed({{"--chunk", "16"}, {"--mma", "f16"}})));
}

// As `wkvc pack` uses options for each of several passes.
TEST(Options, OfAPassLeaveOutTheOther) {
  ConfigOptions options;
  options["--teams"] = "1,2";
  options["--saved"] = "f16";
  EXPECT_EQ(config_key(options.of_pass("forward").parse()), "teams 1");
  EXPECT_EQ(config_key(options.of_pass("both").parse()), "pass both, saved f16, teams 1, backward_teams 2");
}

TEST(Options, AreSettledByTexts) {
  const Config config =
      parsed({{"--pass", "both"}, {"--head", "64"}, {"--chunk", "16"}, {"--teams", "2"}, {"--grad", "k"}});
  using Names = std::vector<std::string>;
  EXPECT_EQ(settled_options(Stage::rec, config), Names{"--head"});
  EXPECT_EQ(settled_options(Stage::chunk, config), (Names{"--head", "--chunk"}));
  for (const Stage stage : {Stage::placed, Stage::warp})
    EXPECT_EQ(settled_options(stage, config), (Names{"--head", "--chunk", "--grad", "--teams"}));
}

// The rows are generated: where this fails, README takes what the message shows.
TEST(Options, AreInReadme) {
  std::string table = "| option | values | meaning | default |\n|---|---|---|---|\n";
  for (const ConfigOption& option : config_options()) {
    table += fmt::format("| `{} {}` | {} | {} | {} |\n", option.spelling, option.syntax, values_text(option, "`"),
                         option.meaning, option.otherwise);
  }
  EXPECT_NE(read_text(WKVC_README, "README").find(table), std::string::npos) << "README lacks\n" << table;
}

}  // namespace
}  // namespace wkvc
