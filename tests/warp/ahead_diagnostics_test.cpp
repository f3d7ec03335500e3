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
    {"TwoTeams", preparing("  warp.team {\n    warp.acquire %slots\n    warp.put %slots\n  }\n  warp.team {\n  }\n"),
     "needs exactly one warp.team"},
    {"NoClaim", preparing("  warp.team {\n    warp.note \"nothing\"\n    warp.put %slots\n  }\n"),
     "line 2: 'warp.channel' op needs a warp.acquire where a team begins its part of a round that it prepares"},
    {"NoPublish", preparing("  warp.team {\n    warp.acquire %slots\n    warp.barrier\n  }\n"),
     "line 2: 'warp.channel' op needs a warp.put where a team ends its part of a round that it prepares"},
    {"PublishedTwice", prepared("      warp.put %slots\n"),
     "line 12: 'warp.put' op names a channel that another one before it names"},
    {"PublishedEarly", prepared("      warp.put %slots\n      warp.note \"late\"\n"),
     "belongs where a team ends its part of a round that it prepares"},
    {"AwaitOfATeam", prepared("      warp.get %slots\n"), "belongs where a sweep over a round begins"},
    {"ReleaseOfATeam", prepared("      warp.release %slots\n"), "belongs where a sweep over a round ends"},
    {"BarrierOutsideRoles", prepared() + "warp.barrier\n", "is for the warps of a role to do"},
    {"NothingOfATeam",
     preparing("  warp.wait_copies 0\n  warp.team {\n    warp.acquire %slots\n    warp.put %slots\n  }\n"),
     "is for others than teams to do"},
    {"TeamsOutsideRoles", prepared() + "warp.team {\n}\n", "is for the warps of a role to do"},
    {"StatesOfTeams", "%0 = warp.load_state \"initial_state\" : !warp.tile<16x32xf32, fragments>\n" + prepared(),
     "is for the warps of a role to do"},
    {"CopyToAnotherRoundsSlot", prepared("    warp.copy %v_ring ahead 2 : !warp.tile<16x32xbf16, shared>\n"),
     "is to a slot that is not this round's"},
    {"CopyOfAnotherRound", prepared("    warp.copy %k_ring ahead 4 : !warp.tile<16x32xbf16, shared>\n"),
     "is 4 chunks ahead; expected 2"},
    {"StateOfATeam", prepared("    %0 = warp.load_state \"initial_state\" : !warp.tile<16x32xf32, fragments>\n"),
     "is of each warp's own rows, and teams have none"},
    {"OwnRowsOfATeam",
     prepared("    %0 = warp.load %h own_rows : !warp.tile<32x32xf16, shared> -> !warp.tile<16x32xf16, fragments>\n"),
     "is of each warp's own rows, and teams have none"},
    {"MaximumOfATeam",
     "%0 = warp.floats offset 1024 live 0 to 3 : !warp.tile<1xf32, plain>\n" +
         prepared("    %k = warp.current %k_ring : !warp.tile<16x32xbf16, shared>\n"
                  "    warp.publish_max %k, %0 : !warp.tile<16x32xbf16, shared>, !warp.tile<1xf32, plain>\n"),
     "in its slot"},
    {"ScaleElsewhere",
     "%0 = warp.buffer in %slots offset 8192 scale 1040 live 0 to 1 : !warp.tile<16x16xf16, shared>\n" + prepared(),
     "bytes 1040 to 1044 of 2048 to 10240"},
    {"AcrossTheBoundary", "%0 = warp.floats offset 2032 live 9 to 9 : !warp.tile<16xf32, plain>\n" + prepared(),
     "bytes 2032 to 2096 of 2048: offsets are"},
};

INSTANTIATE_TEST_SUITE_P(Warp, LinesBeforeRounds, testing::ValuesIn(lines_before_rounds), name_of_case);

TEST(Rounds, NeedTeamsOfTheirOwn) {
  const std::string prepare = prepared();
  const std::string slots = "depth 2 offset 2048 bytes 8192";
  const auto of = [&](const std::string& channel, const std::string& numbers) {
    return error_of(with_rounds(
        prepare, channel, numbers + " schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 36928"));
  };
  expect_contains(of(slots, "warps 2"), "has 2 warps; expected 2 for rows and 2 of teams, as its schedule says");
  expect_contains(of(slots, "warps 5"), "has 5 warps; expected 2 for rows and 2 of teams");
  expect_contains(of("depth 2 offset 2040 bytes 8192", "warps 4"), "says 2040 bytes; expected a multiple of 16");
  expect_contains(of("depth 2 offset 2048 bytes 4611686018427387904", "warps 4"), "at most the 36928 of the kernel");
  expect_contains(of("depth 2 offset 2064 bytes 8192", "warps 4"), "makes 36960 bytes of shared memory");
  expect_contains(of("depth 3 offset 2048 bytes 8192", "warps 4"),
                  "has 3 slots for each chunk of a round; expected 1 to 2");
  expect_contains(of("depth 0 offset 2048 bytes 8192", "warps 4"),
                  "has 0 slots for each chunk of a round; expected 1 to 2");
  expect_contains(of(slots + " refuses", "warps 4"), "refuses: it belongs in a plain kernel");
  std::string backward = with_rounds(prepare);
  backward.replace(backward.find("] {"), 3, "] attributes {backward} {");
  expect_contains(error_of(backward), "prepare(warps = N) is of forward kernels");
  std::string late = with_rounds(prepare);
  late.insert(late.find("    %round = "), "    warp.team {\n    }\n");
  expect_contains(error_of(late), "belongs in the role that prepares");
  std::string barrier = with_rounds(prepare);
  barrier.insert(barrier.find("    %round = "), "    warp.barrier\n");
  expect_contains(error_of(barrier), "would wait for warps that do not come here");
  std::string of_all = with_rounds(prepare);
  of_all.insert(
      of_all.find("      warp.release"),
      "      warp.publish_max %S_chunk, %S_max : !warp.tile<16x32xf32, fragments>, !warp.tile<2xf32, plain>\n");
  of_all.insert(of_all.find("  warp.role prepare"),
                "  %S_max = warp.floats in %slots offset 8192 live 0 to 3 : !warp.tile<2xf32, plain>\n");
  expect_contains(error_of(of_all), "is of all warps, which do not meet");
  std::string alone = with_rounds(prepare);
  alone.replace(alone.find("teams = 2"), 9, "teams = 1");
  expect_contains(error_of(alone), "has 4 warps; expected 2 for rows and 1 of teams, as its schedule says");
  std::string one = with_rounds(prepare, slots);
  one.replace(one.find(", warps = 1"), 11, "").replace(one.find("warps 4"), 7, "warps 2");
  expect_contains(error_of(one), "has 2 slots for each chunk of a round; expected 1");
  expect_contains(error_of(with_teams("", "2", "  %slots = warp.channel depth 1 offset 16 bytes 10240\n")),
                  "begins at byte 16; expected 0 where no role prepares rounds ahead");
  std::string two = with_teams("");
  two.insert(two.find("  %k_ring"), "  %others = warp.channel depth 1 offset 0 bytes 10256\n");
  expect_contains(error_of(two), "begins at byte 0; expected 10256, where the channel before it ends");
  std::string none = header() + buffers() + loop() + ending();
  none.insert(none.find("  %k_ring"), "  %slots = warp.channel depth 1 offset 0 bytes 16\n");
  expect_contains(error_of(none), "belongs in a kernel of teams");
}

TEST(Rounds, AreHandedOverChunkByChunk) {
  const auto without = [](const std::string& line, const std::string& instead) {
    std::string text = with_rounds(prepared());
    return error_of(text.replace(text.find(line), line.size(), instead));
  };
  expect_contains(without("      warp.get %slots\n", ""),
                  "line 2: 'warp.channel' op needs a warp.get where a sweep over a round begins");
  expect_contains(without("      warp.release %slots\n", ""),
                  "line 2: 'warp.channel' op needs a warp.release where a sweep over a round ends");
  expect_contains(without("      warp.release %slots\n", "      warp.release %slots\n      warp.note \"late\"\n"),
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
  store.insert(store.find("      warp.release"),
               "      warp.store_number(%number) to %k_max : !warp.tile<1xf32, plain>\n");
  store.insert(store.find("      warp.store_number"),
               "      %number = warp.load_number %k_max : !warp.tile<1xf32, plain>\n");
  expect_contains(error_of(store), "is to a slot for its team alone to write to");
  expect_contains(error_of(with_teams("    warp.acquire %slots\n")),
                  "belongs in a kernel whose channels go from one role to another");
}

TEST(Clusters, ShareRowsAndSlots) {
  const auto of = [](const std::string& cluster, const std::string& numbers) {
    return error_of(scheduled(
        with_rounds(prepared(), "depth 2 offset 2048 bytes 8192",
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
