// Every operation of the warp dialect prints as it was written.
#include <gtest/gtest.h>

#include <regex>

#include "codegen/ir/Text.h"
#include "codegen/warp/Warp.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

// The text without what its lines begin with: texts of tests are put together of parts.
std::string without_indents(const std::string& text) { return std::regex_replace(text, std::regex("(^|\n) +"), "\n"); }

// Expects that the text prints as it was written.
void expect_reprinted(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  EXPECT_EQ(without_indents(print(&parse(text, context)->getBody()->front())), without_indents(text));
}

TEST(RoundTrip, Teams) {
  std::string text = with_teams(R"(    warp.team {
      warp.wait_copies 0
      warp.copy %k_ring ahead 2 : !warp.tile<16x32xbf16, shared>
      warp.commit_copies
    }
    warp.barrier
    warp.team {
      %scale = warp.scale_for %k_max times 1.000000e+00 : !warp.tile<1xf32, plain>
      %sum = warp.with_scale %S : !warp.tile<16x32xf32, fragments>
      %rounded = warp.round %sum in_scale : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>
      %more = warp.mma %sum, %rounded, %h y_scale %scale in_scale : !warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf16, fragments>, !warp.tile<32x32xf16, shared>
      %meant = warp.without_scale %more : !warp.tile<16x32xf32, fragments>
    }
    %shared = warp.with_scale %S unit : !warp.tile<16x32xf32, fragments>
    %next = warp.sweep over round carry %shared : !warp.tile<16x32xf32, fragments> {
    ^bb0(%before: !warp.tile<16x32xf32, fragments>):
      %number = warp.load_number %k_max : !warp.tile<1xf32, plain>
      %fitting = warp.fit_scale %before, %k_max slope %number offset %number : !warp.tile<16x32xf32, fragments>, !warp.tile<1xf32, plain>
      %as_is = warp.round %fitting as_is : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>
      %loaded = warp.load %h : !warp.tile<32x32xf16, shared> -> !warp.tile<32x32xf16, fragments>
      %beside = warp.round_beside %loaded scale %number, %as_is over %number : !warp.tile<32x32xf16, fragments>, !warp.tile<16x32xf16, fragments> -> !warp.tile<32x32xf16, fragments>
      warp.leave_scale %as_is to %left : !warp.tile<16x32xf16, fragments>, !warp.tile<1xf32, plain>
      warp.yield %fitting : !warp.tile<16x32xf32, fragments>
    }
)");
  text.insert(text.find("  %initial"),
              "  %left = warp.floats in %slots offset 4880 live 0 to 3 : !warp.tile<1xf32, plain>\n");
  expect_reprinted(text);
}

TEST(RoundTrip, JoinedRows) {
  std::string text = two_states(
      "", "",
      "      %row = warp.load_joined %last, %first : !warp.tile<32xf32, plain> -> !warp.tile<1x32xf32, fragments>\n");
  text.insert(text.find("    %saved = warp.sweep"), R"(    warp.barrier
    warp.team {
      warp.on_warp 0 {
        warp.join_rows %last, %first : !warp.tile<32xf32, plain>
      }
    }
    warp.barrier
    %first_row = warp.load_vector %first of first : !warp.tile<32xf32, plain> -> !warp.tile<1x32xf32, fragments>
    %last_row = warp.load_vector %last of last : !warp.tile<32xf32, plain> -> !warp.tile<1x32xf32, fragments>
)");
  text.insert(text.find("  %initial"),
              R"(  %first = warp.floats in %slots offset 4880 live 0 to 1 : !warp.tile<32xf32, plain>
  %last = warp.floats in %slots offset 5008 live 0 to 1 : !warp.tile<32xf32, plain>
)");
  expect_reprinted(text);
}

TEST(RoundTrip, Shares) {
  const std::string text = with_teams(R"(    warp.team {
      %column = warp.share 32
      %h_columns = warp.load %h[%column] transposed : !warp.tile<32x32xf16, shared> -> !warp.tile<32x32xf16, fragments>
      %dots = warp.column_dots %h_columns, %h_columns : !warp.tile<32x32xf16, fragments>, !warp.tile<32x32xf16, fragments> -> !warp.tile<1x32xf32, fragments>
      %tile = warp.zeros : !warp.tile<16x32xf32, fragments>
      %more = warp.column_dots %h_columns, %h_columns rows %tile : !warp.tile<32x32xf16, fragments>, !warp.tile<32x32xf16, fragments>, !warp.tile<16x32xf32, fragments> -> !warp.tile<1x32xf32, fragments>
    }
)");
  expect_reprinted(text);
}

TEST(RoundTrip, RingsOverTheEndOfARound) {
  std::string text = with_teams("");
  text.insert(text.find(" : !warp.tile<16x32xbf16, shared>"), " live 2 to 0");
  text.replace(text.find("live 0 to 1 : !warp.tile<32x32xf16, shared>"), 11, "live 1 to 1");
  text.replace(text.find("offset 2704"), 11, "offset 0");  // in place of the ring meanwhile
  expect_reprinted(text);
}

TEST(RoundTrip, LoopsAtOnce) {
  const std::string text = two_states();
  expect_reprinted(text);
}

TEST(RoundTrip, Again) {
  const std::string text = again(loop_again() + yield_again());
  expect_reprinted(text);
}

TEST(RoundTrip, Units) {
  const std::string text = with(R"(    %unit = warp.own_scale %S times 1.000000e+00 : !warp.tile<16x32xf32, fragments>
    %out = warp.times_unit %S, %unit factor -2.500000e-01 : !warp.tile<16x32xf32, fragments>
    %exponents = warp.plus_exponent %S, %unit : !warp.tile<16x32xf32, fragments>
    %others = warp.plus_exponent %S less, %unit : !warp.tile<16x32xf32, fragments>
    %beside = warp.plus_exponent %S, %unit number 7.000000e+00 : !warp.tile<16x32xf32, fragments>
    %smaller = warp.times_power %S exponent -7 : !warp.tile<16x32xf32, fragments>
    %larger = warp.times_power %S exponent 7 of_state : !warp.tile<16x32xf32, fragments>
)");
  expect_reprinted(text);
}

TEST(RoundTrip, Rounds) {
  const std::string text = with_rounds(
      prepared("      warp.wait_copies 0\n      warp.copy %k_ring ahead 2 : !warp.tile<16x32xbf16, shared>\n"
               "      warp.commit_copies\n"));
  expect_reprinted(text);
}

TEST(RoundTrip, Clusters) {
  const std::string text =
      scheduled(with_rounds(prepared(), "depth 2 offset 2048 bytes 8192",
                            "warps 3 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 69760"),
                "grid(cluster = 2)");
  const auto of_one = std::regex_replace(text, std::regex("state first 0 warps 2"), "state first 0 warps 1");
  expect_reprinted(std::regex_replace(of_one, std::regex("prepare first 2"), "prepare first 1"));
}

TEST(RoundTrip, EveryOperation) {
  const std::string more = R"(  %g = warp.buffer offset 2704 live 2 to 3 : !warp.tile<16x16xf32, shared>
  %slabs = warp.buffer offset 5264 scale 7840 slabs rows live 2 to 3 : !warp.tile<32x16xf16, shared>
  %space = warp.floats offset 10256 live 1 to 1 : !warp.tile<192xf32, plain>
)";
  const std::string numbers = "warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 11024";
  const std::string text = header(numbers) + buffers() + more + loop() + R"(    warp.note "what comes now"
    warp.wait_copies 0
    warp.publish_max %k, %k_max : !warp.tile<16x32xbf16, shared>, !warp.tile<1xf32, plain>
    warp.barrier
    warp.copy %k_ring ahead 1 : !warp.tile<16x32xbf16, shared>
    warp.commit_copies
    %scale = warp.scale_for %k_max, %S_max times 2.000000e+00 : !warp.tile<1xf32, plain>, !warp.tile<2xf32, plain>
    %sum_scale = warp.scale_for %k_max, %S_max counts [1, 1] times 5.000000e-01 : !warp.tile<1xf32, plain>, !warp.tile<2xf32, plain>
    %own_scale = warp.own_scale %S times 1.000000e+00 : !warp.tile<16x32xf32, fragments>
    warp.slabs 32 {
    ^bb0(%column: index):
      %slab = warp.load %k[%column] : !warp.tile<16x32xbf16, shared> -> !warp.tile<16x16xbf16, fragments>
      %wide = warp.call "widen"(%slab) : (!warp.tile<16x16xbf16, fragments>) -> !warp.tile<16x16xf32, fragments>
      %last = warp.call "row"(%wide) with 1.500000e+01 : (!warp.tile<16x16xf32, fragments>) -> !warp.tile<1x16xf32, fragments>
      warp.store_vector %last, %row[%column] : !warp.tile<1x16xf32, fragments>, !warp.tile<32xf32, plain>
      %numbers = warp.load_vector %row[%column] : !warp.tile<32xf32, plain> -> !warp.tile<1x16xf32, fragments>
      %column_sum = warp.call "sum_columns"(%wide) : (!warp.tile<16x16xf32, fragments>) -> !warp.tile<16x1xf32, fragments>
      warp.store_vector %column_sum, %row[%column] part : !warp.tile<16x1xf32, fragments>, !warp.tile<32xf32, plain>
      warp.add_vector %last, %row[%column] : !warp.tile<1x16xf32, fragments>, !warp.tile<32xf32, plain>
      warp.store_sum "du_parts" %row[%column] : !warp.tile<32xf32, plain>
      %other = warp.call "last_of_other_half"(%wide) with 4.000000e+00 : (!warp.tile<16x16xf32, fragments>) -> !warp.tile<16x16xf32, fragments>
      %others = warp.call "sum_of_other_half"(%wide) with 2.000000e+00 : (!warp.tile<16x16xf32, fragments>) -> !warp.tile<16x16xf32, fragments>
      %halves = warp.call "select_halves"(%wide, %other) with 8.000000e+00 : (!warp.tile<16x16xf32, fragments>, !warp.tile<16x16xf32, fragments>) -> !warp.tile<16x16xf32, fragments>
      %u = warp.parameter "u"[%column] as bf16 : !warp.tile<1x16xf32, fragments>
      %sum = warp.call "add"(%wide, %u) : (!warp.tile<16x16xf32, fragments>, !warp.tile<1x16xf32, fragments>) -> !warp.tile<16x16xf32, fragments>
      %sum_f16 = warp.round %sum scale %scale : !warp.tile<16x16xf32, fragments> -> !warp.tile<16x16xf16, fragments>
      warp.store %sum_f16, %h[%column] : !warp.tile<16x16xf16, fragments>, !warp.tile<16x32xf16, shared>
      %dots = warp.column_dots %h x_scale %scale, %h y_scale %scale[%column] : !warp.tile<16x32xf16, shared>, !warp.tile<16x32xf16, shared> -> !warp.tile<1x16xf32, fragments>
    }
    warp.barrier
    warp.on_warp 1 {
      %AB = warp.mma %square, %h x_scale %scale, %h y_scale %scale : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf16, shared>, !warp.tile<16x32xf16, shared>
      %lower = warp.call "tril_strict"(%AB) : (!warp.tile<16x16xf32, fragments>) -> !warp.tile<16x16xf32, fragments>
      %inverse = warp.unit_lower_inverse %lower, %space in "f16" : !warp.tile<16x16xf32, fragments>, !warp.tile<192xf32, plain>
      %level = warp.call "level_pairs"(%lower) with 1.000000e+00 : (!warp.tile<16x16xf32, fragments>) -> !warp.tile<16x16xf32, fragments>
    }
    %own = warp.load %x own transposed : !warp.tile<16x32xf32, shared> -> !warp.tile<16x16xf32, fragments>
    %whole = warp.load_vector %row : !warp.tile<32xf32, plain> -> !warp.tile<1x32xf32, fragments>
    %total = warp.load_vector %row parts 2 : !warp.tile<32xf32, plain> -> !warp.tile<16x1xf32, fragments>
    %at_middle = warp.call "at_row"(%whole) with 7.000000e+00 : (!warp.tile<1x32xf32, fragments>) -> !warp.tile<16x32xf32, fragments>
    %gate = warp.tokens "gate" as f32 : !warp.tile<16x1xf32, fragments>
    warp.store_tokens "number" %gate as f32 : !warp.tile<16x1xf32, fragments>
    warp.save_state "saved_states" %S as bf16 : !warp.tile<16x32xf32, fragments>
    %before = warp.load_saved "saved_states" : !warp.tile<16x32xbf16, fragments>
    warp.copy_saved "saved_states", %staged ahead 1 : !warp.tile<32x32xbf16, shared>
    warp.commit_copies
    warp.wait_copies 0
    %copied = warp.load_staged %staged : !warp.tile<32x32xbf16, shared> -> !warp.tile<16x32xbf16, fragments>
    warp.publish_max %S, %S_max : !warp.tile<16x32xf32, fragments>, !warp.tile<2xf32, plain>
    %S_f16 = warp.round %S own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>
    %plain = warp.round %own : !warp.tile<16x16xf32, fragments> -> !warp.tile<16x16xbf16, fragments>
    %read = warp.mma %square, %S_f16, %h factors ["S", "h^T"] : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf16, fragments>, !warp.tile<16x32xf16, shared>
    %of_lower = warp.mma %read, %own, %square y_triangle lower : !warp.tile<16x16xf32, fragments>, !warp.tile<16x16xf32, fragments>, !warp.tile<16x16xf32, fragments>
    %by_upper = warp.mma %read, %square x_triangle upper, %own : !warp.tile<16x16xf32, fragments>, !warp.tile<16x16xf32, fragments>, !warp.tile<16x16xf32, fragments>
    %wrote = warp.mma %S, %plain, %k_early y_transposed : !warp.tile<16x32xf32, fragments>, !warp.tile<16x16xbf16, fragments>, !warp.tile<16x32xbf16, matrices>
    warp.store_matrix "M" %square as f32 : !warp.tile<16x16xf32, fragments>
    warp.store_output "o" %read transposed as bf16 : !warp.tile<16x16xf32, fragments>
)" + ending();
  expect_reprinted(text);
}

TEST(RoundTrip, BackwardKernels) {
  std::string text = with("");
  text.insert(text.find("{"), "attributes {backward} ");
  text = scheduled(text, "checkpoint(every = 4, dtype = bf16)");
  text = scheduled(text, "numerics(scales = guarded)");
  text = scheduled(text, "memory(keep = sums, prefetch = inputs)");
  expect_reprinted(text);
}

TEST(RoundTrip, LoopsOverGroups) {
  const std::string text =
      with_groups(R"(    %M_ring = warp.ring "M" offset 2704 stages 1 by 0 live 4 to 4 : !warp.tile<16x16xf32, shared>
    warp.wait_copies 0
    warp.stage_state %S_group, %staged : !warp.tile<16x32xf32, fragments>, !warp.tile<32x32xbf16, shared>
    warp.copy %M_ring ahead 0 next : !warp.tile<16x16xf32, shared>
    warp.copy_saved "saved_states", %staged ahead 0 next : !warp.tile<32x32xbf16, shared>
    warp.commit_copies
)");
  expect_reprinted(text);
}

TEST(RoundTrip, BatchSums) {
  const std::string text =
      "warp.batch_sum \"example_backward_du\" for \"example\" chunk 16 head 32 x 48 compute \"f16\" arch \"sm_90a\" "
      "from "
      "\"du_parts\" to \"du\" over \"K\" as bf16\n";
  expect_reprinted(text);
}

TEST(RoundTrip, Combinations) {
  for (const char* rest :
       {"\"diagonal\" strips 3 map_rows 16 shared 0 backward", "\"full\" strips 1 map_rows 32 shared 17408"}) {
    const std::string text =
        std::string(
            "warp.combine \"example_forward_combine\" for \"example\" chunk 16 head 32 x 48 compute \"f16\" arch "
            "\"sm_90a\" from \"initial_state\" in \"segment_states\" segments 8 map ") +
        rest + "\n";
    expect_reprinted(text);
  }
}

TEST(RoundTrip, Summaries) { expect_reprinted(summary()); }

TEST(RoundTrip, NamesOfArgumentsAreThoseOfTheText) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  auto module = parse(with("    warp.slabs 32 {\n    ^bb0(%first: index):\n    }\n"), context);
  module->walk([](warp::SlabsOp slabs) { EXPECT_EQ(name_of(slabs.getBody().getArgument(0)), "first"); });
  module->walk([](warp::SweepOp loop) { EXPECT_EQ(name_of(loop.getBody().getArgument(0)), "S"); });
}

}  // namespace
}  // namespace wkvc::test
