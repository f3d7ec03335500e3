// Passes over warp programs in whole kernels. What each of them changes is in tests/passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "codegen/passes.h"
#include "dsl/builtin.h"
#include "tests/count.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

Config by_teams() {
  Config config;
  config.pass = "both";
  config.scales = "guarded";
  config.teams = config.backward_teams = 2;
  return config;
}

Config ahead(int head = 0) {
  Config config;
  config.key_dim = config.value_dim = head;
  config.scales = "guarded";
  config.teams = config.rounds = 2;
  return config;
}

Source source_of(const Definition& definition, const Config& config) {
  return source_from(rec_text(definition, config));
}

// The numbers behind names that other passes have given, too, may be others where a text was taken back.
std::string without_names(const std::string& text) { return std::regex_replace(text, std::regex("%\\w+"), "%"); }

// Nothing that a pass needs is outside the text; and no pass changes its own result.
TEST(WarpPass, TakesTextsBack) {
  for (const Config& config : {Config(), by_teams(), ahead()}) {
    const Source source = source_of(rwkv6(), config);
    const std::string kernels = lower_to(source, Stage::warp, config);
    const std::string first = dump_after(source, "chunk-to-warp", config);
    EXPECT_EQ(without_names(dump_after(source_from(first), "name-variables", {})), without_names(kernels));
    EXPECT_EQ(dump_after(source_from(kernels), "name-variables", {}), kernels);
  }
}

TEST(WarpPass, ChangesSomeKernel) {
  const char* before = "chunk-to-warp";
  for (const Pass& pass : all_passes()) {
    if (pass.input != Stage::warp || pass.output != Stage::warp) continue;
    const auto changes = [&](const Definition& definition, const Config& config) {
      const Source source = source_of(definition, config);
      return dump_after(source, before, config) != dump_after(source, pass.name, config);
    };
    EXPECT_TRUE(changes(rwkv7(), by_teams()) || changes(rwkv6(), by_teams()) || changes(rwkv6(), ahead()) ||
                changes(recurrence_named("gated_delta_net"), ahead(128)))
        << pass.name;
    before = pass.name;
  }
}

// QK·U begins from zero, in place of behind q·Sᵀ times decays.
TEST(WarpPass, BeginsContractionsThatWaitForProducts) {
  const Definition definition = recurrence_named("gated_delta_net");
  const auto begun = [&](int head, int rounds) {
    Config config = ahead(head);
    config.rounds = rounds;
    if (head > 128) config.teams = 1, config.cluster = 2;
    const Source source = source_of(definition, config);
    const std::string before = dump_after(source, "group-contractions", config);
    EXPECT_EQ(count(before, "family wgmma_registers") > 0, head > 64);
    const std::string after = dump_after(source, "early-contractions", config);
    return static_cast<int>(count(after, "warp.zeros") - count(before, "warp.zeros"));
  };
  EXPECT_EQ(begun(128, 2), 1);
  EXPECT_EQ(begun(128, 1), 0);
  EXPECT_EQ(begun(256, 2), 0);
  EXPECT_EQ(begun(64, 2), 0);
}

// A kernel is emitted as its text is, unless a pass is named.
TEST(WarpPass, LeavesTextsOfKernelsAlone) {
  const Config config = by_teams();
  const std::string early = dump_after(source_of(rwkv7(), config), "join-decays", config);
  EXPECT_THAT(lower_to(source_from(early), Stage::cuda, config), Not(HasSubstr("group_mma")));
  EXPECT_THAT(dump_after(source_from(early), "emit-cuda", config), HasSubstr("group_mma"));
}

}  // namespace
}  // namespace wkvc::test
