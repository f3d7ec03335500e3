// What the warp dialect refuses of teams that prepare a round ahead, and of clusters.
#include "tests/warp/cases.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

class LinesBeforeRounds : public testing::TestWithParam<Case> {};

TEST_P(LinesBeforeRounds, AreRefused) { expect_contains(error_of(with_rounds(GetParam().lines)), GetParam().error); }

const Case lines_before_rounds[] = {
    {"NothingPrepared", "", "needs exactly 1 warp.role prepare"},
    {"NoTeam", preparing(""), "needs exactly one warp.team"},
    {"TwoTeams", preparing("  warp.team {\n    warp.claim\n    warp.publish\n  }\n  warp.team {\n  }\n"),
     "needs exactly one warp.team"},
    {"NoClaim", preparing("  warp.team {\n    warp.note \"nothing\"\n    warp.publish\n  }\n"),
     "is where warp.claim belongs: where a team begins its part of a round that it prepares"},
    {"NoPublish", preparing("  warp.team {\n    warp.claim\n    warp.barrier\n  }\n"),
     "is where warp.publish belongs: where a team ends its part of a round that it prepares"},
    {"PublishedTwice", prepared("      warp.publish\n"),
     "belongs where a team ends its part of a round that it prepares"},
    {"AwaitOfATeam", prepared("      warp.await\n"), "belongs where a sweep over a round begins"},
    {"ReleaseOfATeam", prepared("      warp.release\n"), "belongs where a sweep over a round ends"},
    {"BarrierOutsideRoles", prepared() + "warp.barrier\n", "is for the warps of a role to do"},
    {"NothingOfATeam", preparing("  warp.wait_copies 0\n  warp.team {\n    warp.claim\n    warp.publish\n  }\n"),
     "is for others than teams to do"},
    {"TeamsOutsideRoles", prepared() + "warp.team {\n}\n", "is for the warps of a role to do"},
    {"StatesOfTeams", "%0 = warp.load_state \"initial_state\" : vector<16x32xf32>\n" + prepared(),
     "is for the warps of a role to do"},
    {"CopyToAnotherRoundsSlot", prepared("    warp.copy %v_ring ahead 2 : memref<16x32xbf16, 3>\n"),
     "is to a slot that is not this round's"},
    {"CopyOfAnotherRound", prepared("    warp.copy %k_ring ahead 4 : memref<16x32xbf16, 3>\n"),
     "is 4 chunks ahead; expected 2"},
    {"StateOfATeam", prepared("    %0 = warp.load_state \"initial_state\" : vector<16x32xf32>\n"),
     "is of each warp's own rows, and teams have none"},
    {"OwnRowsOfATeam", prepared("    %0 = warp.load %h own_rows : memref<32x32xf16, 3> -> vector<16x32xf16>\n"),
     "is of each warp's own rows, and teams have none"},
    {"MaximumOfATeam",
     "%0 = warp.floats offset 1024 live 0 to 3 : memref<1xf32, 3>\n" +
         prepared("    %k = warp.current %k_ring : memref<16x32xbf16, 3>\n"
                  "    warp.publish_max %k, %0 : memref<16x32xbf16, 3>, memref<1xf32, 3>\n"),
     "in its slot"},
    {"ScaleElsewhere", "%0 = warp.buffer offset 8192 scale 1040 live 0 to 1 : memref<16x16xf16, 3>\n" + prepared(),
     "are not both a team's, or both a round's"},
    {"AcrossTheBoundary", "%0 = warp.floats offset 2032 live 9 to 9 : memref<16xf32, 3>\n" + prepared(),
     "the first 2048 are a team's"},
};

INSTANTIATE_TEST_SUITE_P(Warp, LinesBeforeRounds, testing::ValuesIn(lines_before_rounds), name_of_case);

TEST(Rounds, NeedTeamsOfTheirOwn) {
  const std::string prepare = prepared();
  const auto of = [&](const std::string& attributes, const std::string& numbers) {
    return error_of(
        with_rounds(prepare, attributes,
                    numbers + " schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 36928"));
  };
  expect_contains(of("", "warps 2"), "has 2 warps; expected 2 for rows and 2 of teams, as its schedule says");
  expect_contains(of("", "warps 5"), "has 5 warps; expected 2 for rows and 2 of teams");
  expect_contains(of("of_team = 2040 : i64", "warps 4"), "gives 2040 bytes of 18464 to a team");
  expect_contains(of("of_team = 18480 : i64", "warps 4"), "gives 18480 bytes of 18464 to a team");
  expect_contains(of("backward, of_team = 2048 : i64", "warps 4"), "prepare(warps = N) is of forward kernels");
  std::string late = with_rounds(prepare);
  late.insert(late.find("    %round = "), "    warp.team {\n    }\n");
  expect_contains(error_of(late), "belongs in the role that prepares");
  std::string barrier = with_rounds(prepare);
  barrier.insert(barrier.find("    %round = "), "    warp.barrier\n");
  expect_contains(error_of(barrier), "would wait for warps that do not come here");
  std::string of_all = with_rounds(prepare);
  of_all.insert(of_all.find("      warp.release"),
                "      warp.publish_max %S_chunk, %S_max : vector<16x32xf32>, memref<2xf32, 3>\n");
  of_all.insert(of_all.find("  warp.role prepare"),
                "  %S_max = warp.floats offset 8192 live 0 to 3 : memref<2xf32, 3>\n");
  expect_contains(error_of(of_all), "is of all warps, which do not meet");
  std::string alone = with_rounds(prepare);
  alone.replace(alone.find("teams = 2"), 9, "teams = 1");
  expect_contains(error_of(alone), "has 4 warps; expected 2 for rows and 1 of teams, as its schedule says");
  std::string one = with_rounds(prepare, "");
  one.replace(one.find(", warps = 1"), 11, "").replace(one.find("warps 4"), 7, "warps 2");
  expect_contains(error_of(one), "needs exactly 0 warp.role prepare");
  std::string of_team = with_teams("");
  of_team.replace(of_team.find("] {"), 3, "] attributes {of_team = 16 : i64} {");
  expect_contains(error_of(of_team), "gives 16 bytes to a team for all rounds; expected 0");
}

TEST(Rounds, AreHandedOverChunkByChunk) {
  const auto without = [](const std::string& line, const std::string& instead) {
    std::string text = with_rounds(prepared());
    return error_of(text.replace(text.find(line), line.size(), instead));
  };
  expect_contains(without("      warp.await\n", ""), "is where warp.await belongs: where a sweep over a round begins");
  expect_contains(without("      warp.release\n", ""),
                  "is where warp.release belongs: where a sweep over a round ends");
  expect_contains(without("      warp.release\n", "      warp.release\n      warp.note \"late\"\n"),
                  "belongs where a sweep over a round ends");
  std::string twice = with_rounds(prepared());
  const std::size_t loop = twice.find("    %round = "), end = twice.find("    warp.yield %round");
  twice.insert(loop, "    %before" + twice.substr(loop + 10, end - loop - 10));
  expect_contains(error_of(twice), "needs exactly one sweep over a round in it");
  const std::string text = with_rounds(prepared());
  const std::size_t round = text.find("    %round = "), after = text.find("    warp.yield %round");
  std::string none = text.substr(0, round) + text.substr(after);
  none.replace(none.find("yield %round"), 12, "yield %S");
  expect_contains(error_of(none), "needs exactly one sweep over a round in it");
  std::string store = text;
  store.insert(store.find("      warp.release"), "      warp.store_number(%number) to %k_max : memref<1xf32, 3>\n");
  store.insert(store.find("      warp.store_number"), "      %number = warp.load_number %k_max : memref<1xf32, 3>\n");
  expect_contains(error_of(store), "is to a slot for its team alone to write to");
  expect_contains(error_of(with_teams("    warp.claim\n")), "belongs in a kernel of 2 rounds");
}

TEST(Clusters, ShareRowsAndSlots) {
  const auto of = [](const std::string& cluster, const std::string& numbers) {
    return error_of(scheduled(
        with_rounds(prepared(), "of_team = 2048 : i64",
                    numbers + " schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 69760"),
        "grid(cluster = " + cluster + ")"));
  };
  expect_contains(of("3", "warps 3"), "grid(cluster = 3): expected 1, 2, 4 or 8");
  expect_contains(of("4", "warps 3"), "has 32 rows for 4 blocks; expected 16 for each warp");
  expect_contains(of("2", "warps 1"), "has 1 warps; expected 1 for rows and 2 of teams");
  expect_contains(error_of(scheduled(with_teams(""), "grid(cluster = 2)")),
                  "grid(cluster = 2): blocks share what teams prepare a round ahead: give prepare(warps = N)");
}

}  // namespace
}  // namespace wkvc::test
