// What the warp dialect refuses in loops over rounds, which teams prepare.
#include "tests/warp/cases.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

class LinesOfARound : public testing::TestWithParam<Case> {};

TEST_P(LinesOfARound, AreRefused) { expect_contains(error_of(with_teams(GetParam().lines)), GetParam().error); }

const Case lines_of_a_round[] = {
    {"EndLastOutsideARound", "warp.end_last\n", "belongs in a sweep forward over a round"},
    {"EndLastOfAStateThatIsRead",
     "%0 = warp.sweep over round carry %S : !warp.tile<16x32xf32, fragments> {\n^bb0(%Z: "
     "!warp.tile<16x32xf32, fragments>):\n  warp.end_last\n"
     "  warp.yield %Z : !warp.tile<16x32xf32, fragments>\n}\n%1 = warp.call \"neg\"(%0) : "
     "(!warp.tile<16x32xf32, fragments>) -> !warp.tile<16x32xf32, fragments>\n",
     "whose result nothing reads"},
    {"SlabsOfTheBlock", "warp.slabs 32 {\n^bb0(%c: index):\n}\n", "is a team's to do: it belongs in a warp.team"},
    {"CopyOfTheBlock", "warp.copy %k_ring ahead 2 : !warp.tile<16x32xbf16, shared>\n", "belongs in a warp.team"},
    {"ScaleOfASumWithout",
     "%0 = warp.round %S in_scale : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n",
     "takes its scale from sums that carry one, and from nothing else"},
    {"NoScaleOfASumWithOne",
     "%0 = warp.with_scale %S : !warp.tile<16x32xf32, fragments>\n"
     "%1 = warp.round %0 : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n",
     "takes its scale from sums that carry one, and from nothing else"},
    {"TwoScales",
     "%0 = warp.round %S own in_scale : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n",
     "has more than one of a scale given, one of its own and the one that x carries"},
    {"OperandWithoutAScale",
     "%0 = warp.with_scale %S : !warp.tile<16x32xf32, fragments>\n%1 = warp.round %S : "
     "!warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n"
     "warp.team {\n"
     "%2 = warp.mma %0, %1, %h in_scale : !warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf16, fragments>, "
     "!warp.tile<32x32xf16, shared>\n}\n",
     "x rounded with a scale"},
    {"ScaleOfARow",
     "%0 = warp.zeros : !warp.tile<1x32xf32, fragments>\n%1 = warp.with_scale %0 : !warp.tile<1x32xf32, fragments>\n",
     "takes a tile, not"},
    {"BufferOfNoChunk", "%0 = warp.scale_for %k_max times 1.0 : !warp.tile<1xf32, plain>\n",
     "uses a slot's buffers outside a warp.team and the sweep over a round"},
    {"StripsOfAThird", "warp.team {\nwarp.slabs 32 strips 48 {\n^bb0(%c: index):\n}\n}\n",
     "has strips of 48 columns; expected 32, 64 or 128"},
    {"StripsOfTooMany", "warp.team {\nwarp.slabs 32 strips 64 {\n^bb0(%c: index):\n}\n}\n",
     "has strips of 64 columns for 1 warps; expected 32 in all"},
    {"ContractionInStrips",
     "warp.team {\nwarp.slabs 32 strips 32 {\n^bb0(%c: index):\n%0 = warp.zeros : "
     "!warp.tile<16x16xf32, strips>\n}\n}\n",
     "is nothing that tiles in strips are for"},
    {"BlocksInStrips",
     "warp.team {\nwarp.slabs 32 strips 32 {\n^bb0(%c: index):\n"
     "%0 = warp.load %h[%c] : !warp.tile<32x32xf16, shared> -> !warp.tile<32x32xf16, fragments>\n}\n}\n",
     "has '!warp.tile<32x32xf16, fragments>' in slabs that have strips"},
    {"StripsInBlocks",
     "warp.team {\nwarp.slabs 32 {\n^bb0(%c: index):\n"
     "%0 = warp.load %h[%c] : !warp.tile<32x32xf16, shared> -> !warp.tile<32x16xf16, strips>\n}\n}\n",
     "has '!warp.tile<32x16xf16, strips>' in no slabs that have strips"},
    {"ContractionOfStrips",
     "%0 = warp.round %S : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, strips>\n"
     "%1 = warp.zeros : !warp.tile<16x32xf32, fragments>\n"
     "%2 = warp.mma %1, %0, %h : !warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf16, strips>, "
     "!warp.tile<32x32xf16, shared>\n",
     "'mma.sync' takes x as fragments, not strips"},
    {"ShiftInBlocks",
     "%0 = warp.zeros : !warp.tile<1x32xf32, fragments>\n%1 = warp.zeros : !warp.tile<16x32xf32, fragments>\n"
     "%2 = warp.call \"shift_rows\"(%1, %0) : (!warp.tile<16x32xf32, fragments>, !warp.tile<1x32xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "is of tiles in strips"},
    {"SlopeWithoutAScale",
     "%0 = warp.load_number %k_max : !warp.tile<1xf32, plain>\n"
     "%1 = warp.round %S slope %0 offset %0 : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n",
     "slope and offset, only in the scale that x carries"},
    {"AsItIsWithoutAScale",
     "%0 = warp.round %S as_is : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n",
     "takes its scale from sums that carry one, and from nothing else"},
    {"SameScaleAsNone",
     "%0 = warp.round %S own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n%1 = warp.zeros : "
     "!warp.tile<16x16xf32, fragments>\n"
     "%2 = warp.mma %1, %0, %0 same_scale : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf16, fragments>, "
     "!warp.tile<16x32xf16, fragments>\n",
     "in the same scale needs an accumulator that carries it"},
    {"NewScaleBesideOne",
     "%0 = warp.round %S own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n%1 = warp.zeros : "
     "!warp.tile<16x16xf32, fragments>\n"
     "%2 = warp.with_scale %1 : !warp.tile<16x16xf32, fragments>\n"
     "%3 = warp.mma %2, %0, %0 new_scale : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf16, fragments>, "
     "!warp.tile<16x32xf16, fragments>\n",
     "in a new one one that has none"},
    {"ScaleOfABufferWithout", "%0 = warp.scale_of %h : !warp.tile<32x32xf16, shared>\n",
     "takes a buffer with one scale"},
    {"ScaleBesideATileWithout",
     "%0 = warp.load_number %k_max : !warp.tile<1xf32, plain>\n"
     "%1 = warp.round %S : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n"
     "%2 = warp.round_beside %S, %1 over %0 : !warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf16, fragments> -> "
     "!warp.tile<16x32xf16, fragments>\n",
     "takes a state that was rounded with a scale"},
    {"BesideOfWhatHasAScale",
     "%0 = warp.load_number %k_max : !warp.tile<1xf32, plain>\n"
     "%1 = warp.round %S own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n"
     "%2 = warp.round_beside %1 scale %0, %1 over %0 : !warp.tile<16x32xf16, fragments>, "
     "!warp.tile<16x32xf16, fragments> -> !warp.tile<16x32xf16, fragments>\n",
     "or f16 that was loaded and the scale given"},
    {"BesideOfF16WithoutAScale",
     "%0 = warp.load_number %k_max : !warp.tile<1xf32, plain>\n"
     "%1 = warp.round %S own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n"
     "%2 = warp.round %S : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n"
     "%3 = warp.round_beside %2, %1 over %0 : !warp.tile<16x32xf16, fragments>, !warp.tile<16x32xf16, fragments> -> "
     "!warp.tile<16x32xf16, fragments>\n",
     "f16 that carries a scale"},
    {"BesideOfF32InAScale",
     "%0 = warp.load_number %k_max : !warp.tile<1xf32, plain>\n"
     "%1 = warp.round %S own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n"
     "%2 = warp.round_beside %S scale %0, %1 over %0 : !warp.tile<16x32xf32, fragments>, "
     "!warp.tile<16x32xf16, fragments> -> !warp.tile<16x32xf16, fragments>\n",
     "or f16 that was loaded and the scale given"},
    {"FitOfASumWithout",
     "%0 = warp.sweep over round carry %S : !warp.tile<16x32xf32, fragments> {\n^bb0(%Z: "
     "!warp.tile<16x32xf32, fragments>):\n"
     "%1 = warp.load_number %k_max : !warp.tile<1xf32, plain>\n"
     "%2 = warp.fit_scale %Z, %k_max slope %1 offset %1 : !warp.tile<16x32xf32, fragments>, !warp.tile<1xf32, plain>\n"
     "warp.yield %Z : !warp.tile<16x32xf32, fragments>\n}\n",
     "takes a sum that carries a scale"},
    {"ScaleOfNoOperand", "warp.leave_scale %S to %k_max : !warp.tile<16x32xf32, fragments>, !warp.tile<1xf32, plain>\n",
     "takes an operand that was rounded with a scale"},
    {"ScaleLeftByATeam",
     "warp.team {\n%0 = warp.round %S own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n"
     "warp.leave_scale %0 to %k_max : !warp.tile<16x32xf16, fragments>, !warp.tile<1xf32, plain>\n}\n",
     "is for the block's first warp to do"},
    {"NegativeBound", "%0 = warp.bound -1.0\n", "has a negative factor"},
    {"MaximumOfValueRows",
     "warp.team {\nwarp.publish_max %S, %k_max : !warp.tile<16x32xf32, fragments>, !warp.tile<1xf32, plain>\n}\n",
     "is for all warps of value rows"},
    {"CallOfASumWithAScale",
     "%0 = warp.with_scale %S : !warp.tile<16x32xf32, fragments>\n"
     "%1 = warp.call \"neg\"(%0) : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<16x32xf32, fragments>\n",
     "takes no sum that carries a scale: take what warp.without_scale gives"},
    {"AccumulatorWithoutAScale",
     "%0 = warp.round %S own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n%1 = warp.zeros : "
     "!warp.tile<16x16xf32, fragments>\n"
     "%2 = warp.mma %1, %0, %0 in_scale : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf16, fragments>, "
     "!warp.tile<16x32xf16, fragments>\n",
     "in scale needs an accumulator that carries one"},
    {"LoopOfASumWithAScale",
     "%0 = warp.with_scale %S : !warp.tile<16x32xf32, fragments>\n"
     "%1 = warp.sweep over round carry %0 : !warp.tile<16x32xf32, fragments> {\n^bb0(%Z: "
     "!warp.tile<16x32xf32, fragments>):\n"
     "warp.yield %S : !warp.tile<16x32xf32, fragments>\n}\n",
     "ends with a sum that carries a scale only if the sweep began with one"},
    {"ShareOfNoColumns", "warp.team {\n%c = warp.share 8\n}\n", "has 8 columns; expected a multiple of 16"},
    {"ShareOfFewerColumns", "warp.team {\n%c = warp.share 16\n}\n",
     "of 16 columns for each of 1 warps makes 16; expected 32 keys"},
    {"ShareOfOthers", "%c = warp.share 32\n", "is a team's to do"},
    {"LoadOfAnotherShare",
     "warp.team {\n%c = warp.share 32\n%0 = warp.load %h[%c] : !warp.tile<32x32xf16, shared> -> "
     "!warp.tile<32x16xf16, fragments>\n}\n",
     "where 32x32 is expected"},
    {"ColumnsAsFirstOperand",
     "warp.team {\n%c = warp.share 32\n%0 = warp.load %h[%c] transposed : !warp.tile<32x32xf16, shared> -> "
     "!warp.tile<32x32xf16, fragments>\n"
     "%1 = warp.zeros : !warp.tile<32x32xf32, fragments>\n"
     "%2 = warp.mma %1, %0, %h : !warp.tile<32x32xf32, fragments>, !warp.tile<32x32xf16, fragments>, "
     "!warp.tile<32x32xf16, shared>\n}\n",
     "is for contractions to take as their second operand, and for nothing else"},
    {"ColumnDotsOfOthers",
     "warp.team {\n%0 = warp.load %h : !warp.tile<32x32xf16, shared> -> !warp.tile<32x32xf16, fragments>\n"
     "%1 = warp.column_dots %0, %0 : !warp.tile<32x32xf16, fragments>, !warp.tile<32x32xf16, fragments> -> "
     "!warp.tile<1x32xf32, fragments>\n}\n",
     "takes of what registers hold columns alone"},
    {"ColumnDotsBesideOtherRows",
     "warp.team {\n%c = warp.share 32\n%0 = warp.load %h[%c] transposed : !warp.tile<32x32xf16, shared> -> "
     "!warp.tile<32x32xf16, fragments>\n"
     "%1 = warp.zeros : !warp.tile<16x16xf32, fragments>\n%2 = warp.column_dots %0, %0 rows %1 : "
     "!warp.tile<32x32xf16, fragments>, "
     "!warp.tile<32x32xf16, fragments>, !warp.tile<16x16xf32, fragments> -> !warp.tile<1x32xf32, fragments>\n}\n",
     "adds the rows of a tile beside as many columns"},
    {"TeamInATeam", "warp.team {\nwarp.team {\nwarp.barrier\n}\n}\n",
     "belongs at the top of a role or in its sweep over rounds"},
    {"TeamArguments", "warp.team {\n^bb0(%c: index):\nwarp.barrier\n}\n", "takes no arguments"},
    {"OnWarpOutside", "warp.team {\nwarp.on_warp 1 {\nwarp.note \"nothing\"\n}\n}\n", "warp 1 of a team of 1"},
    {"RingOfStages", "%0 = warp.ring \"k\" offset 4096 stages 2 by 0 : !warp.tile<16x32xbf16, shared>\n",
     "belongs at the top of the kernel"},
    {"RowOfAnotherChunk",
     "%0 = warp.load_vector %k_max of next : !warp.tile<1xf32, plain> -> !warp.tile<1x1xf32, fragments>\n",
     "[first, last]"},
    {"PartsOfAChunk",
     "%0 = warp.load_vector %k_max parts 1 of first : !warp.tile<1xf32, plain> -> !warp.tile<1x1xf32, fragments>\n",
     "of a chunk of the round is a whole row"},
    {"ChunkOfATeam",
     "warp.team {\n%0 = warp.load_vector %k_max of last : !warp.tile<1xf32, plain> -> "
     "!warp.tile<1x1xf32, fragments>\n}\n",
     "of a chunk of the round belongs outside the sweeps over it, behind a barrier of all warps"},
    {"JoinedForward",
     "%0 = warp.sweep over round carry %S : !warp.tile<16x32xf32, fragments> {\n^bb0(%Z: "
     "!warp.tile<16x32xf32, fragments>):\n"
     "%1 = warp.load_joined %k_max, %k_max : !warp.tile<1xf32, plain> -> !warp.tile<1x1xf32, fragments>\n"
     "warp.yield %Z : !warp.tile<16x32xf32, fragments>\n}\n",
     "belongs in a sweep backward over a round"},
    {"JoinedByAllWarps", "warp.barrier\nwarp.team {\nwarp.join_rows %k_max, %k_max : !warp.tile<1xf32, plain>\n}\n",
     "is for one warp of a team in a round, between two barriers of all warps before the sweeps"},
    {"JoinedAfterTheStatesHaveCome",
     "warp.barrier\nwarp.team {\nwarp.on_warp 0 {\nwarp.join_rows %k_max, %k_max : !warp.tile<1xf32, plain>\n}\n}\n",
     "is for one warp of a team in a round, between two barriers of all warps before the sweeps"},
    {"JoinedWithItself",
     "warp.barrier\nwarp.team {\nwarp.on_warp 0 {\nwarp.join_rows %k_max, %k_max : !warp.tile<1xf32, plain>\n}\n}\n"
     "warp.barrier\n",
     "joins two rows of 32 keys"},
    {"ChunkBeforeAllAreThere",
     "warp.barrier\nwarp.team {\nwarp.note \"nothing\"\n}\n"
     "%0 = warp.load_vector %k_max of last : !warp.tile<1xf32, plain> -> !warp.tile<1x1xf32, fragments>\n",
     "of a chunk of the round belongs outside the sweeps over it, behind a barrier of all warps"},
    {"JoinedBeforeAllAreThere",
     "warp.team {\nwarp.on_warp 0 {\nwarp.join_rows %k_max, %k_max : !warp.tile<1xf32, plain>\n}\n}\n",
     "is for one warp of a team in a round, between two barriers of all warps before the sweeps"},
    {"LoopOverChunks",
     "%0 = warp.sweep over group carry %S : !warp.tile<16x32xf32, fragments> {\n^bb0(%Z: "
     "!warp.tile<16x32xf32, fragments>):\n"
     "warp.yield %Z : !warp.tile<16x32xf32, fragments>\n}\n",
     "a sweep over one group or round belongs inside a sweep over those"},
    {"Backward",
     "%0 = warp.sweep over rounds backward carry %S : !warp.tile<16x32xf32, fragments> {\n^bb0(%Z: "
     "!warp.tile<16x32xf32, fragments>):\n"
     "warp.yield %Z : !warp.tile<16x32xf32, fragments>\n}\n",
     "from the first in a forward kernel, from the last in a backward one"},
};

INSTANTIATE_TEST_SUITE_P(Warp, LinesOfARound, testing::ValuesIn(lines_of_a_round), name_of_case);

TEST(Again, GoesThroughARound) {
  expect_contains(error_of(again("      warp.yield %kept : !warp.tile<16x32xbf16, fragments>\n")),
                  "needs a warp.team and one loop over the round, forward");
  std::string elsewhere = again(loop_again() + yield_again());
  elsewhere.replace(elsewhere.find("ahead 0 next"), 12, "ahead 0");
  expect_contains(error_of(elsewhere), "is `next` in the sweep over them, and nowhere else");
  std::string forward = with_teams(
      "%kept = warp.load_saved \"saved_states\" : !warp.tile<16x32xbf16, fragments>\n%again = warp.again %kept : "
      "!warp.tile<16x32xbf16, fragments> "
      "{\n"
      "warp.team {\nwarp.note \"nothing\"\n}\n%first = warp.sweep over round carry %S : "
      "!warp.tile<16x32xf32, fragments> {\n"
      "^bb0(%Z: !warp.tile<16x32xf32, fragments>):\nwarp.yield %Z : !warp.tile<16x32xf32, fragments>\n}\nwarp.yield "
      "%kept : !warp.tile<16x32xbf16, fragments>\n}\n");
  expect_contains(error_of(scheduled(forward, "checkpoint(every = 4)")),
                  "belongs in the sweep over rounds of a backward kernel");
  std::string given = again(loop_again() + yield_again());
  given.replace(given.find("warp.again %kept"), 16, "warp.again %none")
      .insert(given.find("    %again"),
              "    %none = warp.round %S : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xbf16, fragments>\n");
  expect_contains(error_of(given), "begins with what a warp.load_saved gives");
  expect_contains(error_of(again(loop_again() + "      warp.yield %first : !warp.tile<16x32xf32, fragments>\n")),
                  "ends with a warp.yield of '!warp.tile<16x32xbf16, fragments>'");
  std::string every = again(loop_again() + yield_again());
  every.replace(every.find("every = 4"), 9, "every = 2");
  expect_contains(error_of(every), "is of the first chunk of 2 rounds of 2; a state is saved every 2");
}

TEST(Teams, DivideTheWarps) {
  expect_contains(error_of(with_teams("", "3")), "has 3 teams; expected a number that divides its 2 warps");
  expect_contains(error_of(with_teams("", "0")), "a schedule's prepare has teams = 0; expected 1 to 15");
  expect_contains(error_of(with_teams("", "16")), "expected 1 to 15");
  std::string uneven = with_teams("");
  uneven.replace(uneven.find("shared 20512"), 12, "shared 20528");
  expect_contains(error_of(uneven), "makes 20512 bytes of shared memory with what lies before it, not 20528");
  expect_contains(error_of(with_teams("", "1")), "belongs in a kernel of teams");
}

TEST(Teams, HaveNothingElseWhereRingsGoOverTheEndOfARound) {
  const auto error = [](const std::string& ring, const std::string& buffer) {
    std::string text = with_teams("");
    text.insert(text.find(" : !warp.tile<16x32xbf16, shared>"), " live " + ring);
    text.replace(text.find("live 0 to 1 : !warp.tile<32x32xf16, shared>"), 11, "live " + buffer);
    text.replace(text.find("offset 2704"), 11, "offset 0");
    return error_of(text);
  };
  expect_contains(error("2 to 0", "0 to 1"), "of another buffer that is in use in the same phase");
  expect_contains(error("2 to 0", "1 to 3"), "of another buffer that is in use in the same phase");
}

TEST(JoinedRows, AreJoinedOnce) {
  const std::string load =
      "      %row = warp.load_joined %last, %first : !warp.tile<32xf32, plain> -> !warp.tile<1x32xf32, fragments>\n";
  const std::string join =
      "    warp.barrier\n    warp.team {\n      warp.on_warp 0 {\n"
      "        warp.join_rows %last, %first : !warp.tile<32xf32, plain>\n      }\n    }\n    warp.barrier\n";
  const auto error = [&](const std::string& joins) {
    std::string text = two_states("", "", load);
    text.insert(text.find("    %saved = warp.sweep"), joins);
    text.insert(text.find("  %initial"),
                "  %first = warp.floats in %slots offset 4880 live 0 to 1 : !warp.tile<32xf32, plain>\n"
                "  %last = warp.floats in %slots offset 5008 live 0 to 1 : !warp.tile<32xf32, plain>\n");
    return error_of(text);
  };
  expect_contains(error(""), "takes rows that a warp.join_rows joins");
  expect_contains(error(join + join), "joins a row that is joined elsewhere, too");
}

TEST(LoopsAtOnce, NeedNothingOfEachOther) {
  const auto error = [](const std::string& inside, const std::string& between, const std::string& from = "",
                        const std::string& to = "") {
    std::string text = two_states(inside, between);
    return error_of(text.replace(text.find(from), from.size(), to));
  };
  const std::string expected = "needs a sweep right before it through the same round";
  expect_contains(error("      warp.barrier\n", ""), expected);
  expect_contains(error("", "    warp.note \"between\"\n"), expected);
  const std::string stores =
      "      %x = warp.zeros : !warp.tile<1x1xf32, fragments>\n"
      "      warp.store_vector %x, %k_max : !warp.tile<1x1xf32, fragments>, !warp.tile<1xf32, plain>\n";
  const std::string loads = "      %number = warp.load_number %k_max : !warp.tile<1xf32, plain>\n";
  expect_contains(error_of(two_states(stores, "", loads)), expected);
  expect_contains(error_of(two_states(loads, "", stores)), expected);
  expect_contains(error("", "", "warp.sweep over round backward beside carry %S",
                        "warp.sweep over round backward beside carry %saved"),
                  expected);
  expect_contains(error("", "", "over round backward beside", "over round beside"), expected);
}

}  // namespace
}  // namespace wkvc::test
