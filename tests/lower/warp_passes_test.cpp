// Passes over warp programs: what each of them changes of a kernel, and that texts of kernels stay as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "dsl/builtin.h"
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

Config ahead() {
  Config config;
  config.scales = "guarded";
  config.teams = config.rounds = 2;
  return config;
}

Source source_of(const Definition& definition, const Config& config) {
  return source_from(rec_text(definition, config));
}

// How often a kernel's text has each of some words, before a pass and after it.
class WarpPass {
 public:
  WarpPass(const Definition& definition, const Config& config, const char* before, const char* pass)
      : before_(dump_after(source_of(definition, config), before, config)),
        after_(dump_after(source_of(definition, config), pass, config)) {}

  std::pair<int, int> counts(std::string_view word) const { return {count(before_, word), count(after_, word)}; }

 private:
  static int count(std::string_view text, std::string_view word) {
    int found = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++found;
    return found;
  }

  std::string before_, after_;
};

using Counts = std::pair<int, int>;

TEST(WarpPass, ScalesInputsWhereTheyAreWidened) {
  Config config;
  config.teams = config.rounds = 2;
  const WarpPass pass(rwkv7(), config, "chunk-to-warp", "scale-inputs");
  EXPECT_EQ(pass.counts("warp.widen_over"), Counts(0, 4));
  EXPECT_EQ(pass.counts(" scale %").first, pass.counts(" scale %").second);  // of what is rounded, or of its inputs
}

TEST(WarpPass, ReusesExponentialsOfTheRowBefore) {
  const WarpPass pass(rwkv7(), by_teams(), "scale-inputs", "reuse-exponentials");
  EXPECT_EQ(pass.counts("\"shift_rows\""), Counts(0, 4));
}

TEST(WarpPass, FoldsTheUnitIntoExponents) {
  const WarpPass pass(rwkv7(), by_teams(), "reuse-exponentials", "fold-units");
  EXPECT_EQ(pass.counts("warp.plus_exponent"), Counts(0, 3));
  EXPECT_EQ(pass.counts("warp.times_unit"), Counts(8, 4));
}

TEST(WarpPass, JoinsSumsOverLanes) {
  const WarpPass pass(rwkv7(), by_teams(), "fold-units", "join-sums");
  EXPECT_EQ(pass.counts(" rows %"), Counts(0, 1));
  EXPECT_EQ(pass.counts("\"sum_rows\"").first, pass.counts("\"sum_rows\"").second + 1);
}

// The state's own, before the first chunk and behind the last one.
TEST(WarpPass, DefersTheLastDecayOfAChunk) {
  const WarpPass pass(rwkv6(), ahead(), "join-sums", "defer-decays");
  EXPECT_EQ(pass.counts("warp.decaying"), Counts(0, 2));
  EXPECT_EQ(pass.counts("warp.settled"), Counts(0, 1));
}

TEST(WarpPass, DropsWhatOthersHaveLeft) {
  const WarpPass pass(rwkv7(), by_teams(), "defer-decays", "drop-unread");
  EXPECT_GT(pass.counts("warp.call").first, pass.counts("warp.call").second);
  EXPECT_EQ(pass.counts("warp.store"), Counts(pass.counts("warp.store").first, pass.counts("warp.store").first));
}

TEST(WarpPass, JoinsTheDecaysOfTwoChunks) {
  EXPECT_EQ(WarpPass(rwkv6(), by_teams(), "drop-unread", "join-decays").counts("warp.join_rows"), Counts(0, 1));
  EXPECT_EQ(WarpPass(rwkv7(), by_teams(), "drop-unread", "join-decays").counts("warp.join_rows"), Counts(0, 0));
}

// Both kernels that go through a round: with fences behind what their teams store.
TEST(WarpPass, ContractsByGroupsBehindFences) {
  const WarpPass pass(rwkv7(), by_teams(), "join-decays", "group-contractions");
  EXPECT_EQ(pass.counts("by_groups"), Counts(0, 11));
  EXPECT_EQ(pass.counts("warp.before_async_reads"), Counts(0, 2));
}

// QK·U begins from zero, in place of behind q·Sᵀ times decays.
TEST(WarpPass, BeginsContractionsThatWaitForProducts) {
  const Definition definition = recurrence_named("gated_delta_net");
  const auto begun = [&](int head, int rounds) {
    Config config = ahead();
    config.key_dim = config.value_dim = head;
    config.rounds = rounds;
    if (head > 128) config.teams = 1, config.cluster = 2;
    const WarpPass pass(definition, config, "group-contractions", "early-contractions");
    EXPECT_EQ(pass.counts("by_groups").first > 0, head > 64);
    const auto [before, after] = pass.counts("warp.zeros");
    const auto [sums_before, sums_after] = pass.counts("\"add\"");
    EXPECT_EQ(sums_after - sums_before, after - before);
    return after - before;
  };
  EXPECT_EQ(begun(128, 2), 1);
  EXPECT_EQ(begun(128, 1), 0);
  EXPECT_EQ(begun(256, 2), 0);
  EXPECT_EQ(begun(64, 2), 0);
}

// A text of a kernel says all: no pass changes it once more.
TEST(WarpPass, LeavesTextsOfKernelsAlone) {
  const Config config = by_teams();
  const std::string early = dump_after(source_of(rwkv7(), config), "join-decays", config);
  EXPECT_THAT(lower_to(source_from(early), Stage::cuda, config), Not(HasSubstr("group_mma")));
  const std::string last = lower_to(source_of(rwkv7(), config), Stage::warp, config);
  EXPECT_THAT(lower_to(source_from(last), Stage::cuda, config), HasSubstr("group_mma"));
}

}  // namespace
}  // namespace wkvc::test
