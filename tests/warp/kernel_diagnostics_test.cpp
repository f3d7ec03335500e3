// What the warp dialect refuses of kernels as a whole: numbers, names, schedules, tensors, loops, summaries.
#include "tests/warp/cases.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

TEST(Schedules, AreReadWhole) {
  const auto error = [](const std::string& schedule) {
    return error_of(header("warps 2 schedule #wkvc." + schedule + " chunk 16 head 32 x 32 shared 10256") + buffers() +
                    loop() + ending());
  };
  expect_contains(error("plan<grid(blocks = 1)>"), "wkvc has no attribute 'plan'; expected #wkvc.schedule<...>");
  expect_contains(error("schedule<roles(teams = 2)>"),
                  "a schedule has no part 'roles'; expected grid, prepare, checkpoint, numerics, memory");
  expect_contains(error("schedule<grid(teams = 2)>"),
                  "a schedule's grid has no 'teams'; expected segments, cluster, blocks");
  expect_contains(error("schedule<grid(blocks = 1, blocks = 1)>"), "'blocks' is given twice");
  expect_contains(error("schedule<grid(blocks = 33)>"), "has blocks = 33; expected 0 to 32");
  expect_contains(error("schedule<grid(blocks = 1), memory(keep = all)>"),
                  "has keep = all; expected automatic or contractions or factors");
  expect_contains(error("schedule"), "holds 1 to 32 blocks, not 0");
  for (const std::string ahead : {"early", "read", "states", "groups"})
    expect_contains(
        error("schedule<grid(blocks = 1), memory(prefetch = " + ahead + ")>"),
        "has memory(prefetch = " + ahead + "), which its loops and copies are not of; expected none or inputs");
}

TEST(Kernels, HaveUsableNumbers) {
  auto error = [](const std::string& numbers) { return error_of(header(numbers) + buffers() + loop() + ending()); };
  expect_contains(error("warps 0 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 8192"),
                  "a block has 1 to 32 warps, not 0");
  expect_contains(error("warps 33 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 8192"),
                  "not 33");
  expect_contains(error("warps 2 schedule #wkvc.schedule<grid(blocks = 0)> chunk 16 head 32 x 32 shared 8192"),
                  "holds 1 to 32 blocks, not 0");
  expect_contains(error("warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk -16 head 32 x 32 shared 8192"),
                  "chunk is -16; expected a multiple");
  expect_contains(error("warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 0 x 32 shared 8192"),
                  "key_dim is 0; expected a multiple");
  expect_contains(error("warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 33 shared 8192"),
                  "value_dim is 33; expected a multiple");
  expect_contains(error("warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared -1"),
                  "takes -1 bytes of shared memory");
  expect_contains(error("warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 232449"),
                  "a block has at most 232448");
  expect_contains(error("warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 4096"),
                  "of 4096: offsets are");
}

TEST(Kernels, HaveUsableNames) {
  auto error = [](const std::string& from, const std::string& to) {
    std::string text = header() + buffers() + loop() + ending();
    return error_of(text.replace(text.find(from), from.size(), to));
  };
  expect_contains(error("\"example_forward\"", "\"a){\""), "is not an identifier");
  expect_contains(error("\"example\"", "\"int\""), "is a C++ keyword");
  expect_contains(error("\"f16\"", "\"f8\\0A#error\""), "expected bf16, bf16x3, f16 or f32");
  for (const char* parts : {"33", "4294967298", "-2"})
    expect_contains(error("{\n", std::string("attributes {parts = ") + parts + "} {\n"),
                    "attribute 'parts' failed to satisfy constraint");
  for (const char* arch :
       {"\"\"", "\"sm_\"", "\"sm_90\\0A\"", "\"hopper\"", "\"sm_123456\"", "\"sm_90\"", "\"sm_100a\""})
    expect_contains(error("\"sm_90a\"", arch), "expected sm_90a");
}

TEST(Kernels, HaveOneLoopThatCarriesTheState) {
  expect_contains(error_of(header() + buffers() + "}\n"), "needs exactly 1 warp.role state");
  expect_contains(
      error_of(header() + buffers() + "  warp.role state first 0 warps 2 {\n    warp.note \"nothing\"\n  }\n}\n"),
      "needs exactly one warp.sweep");
  auto error = [](const std::string& from, const std::string& to) {
    std::string text = header() + buffers() + loop() + ending();
    return error_of(text.replace(text.find(from), from.size(), to));
  };
  expect_contains(error("^bb0(%S: !warp.tile<16x32xf32, fragments>)",
                        "^bb0(%S: !warp.tile<16x32xf32, fragments>, %T: !warp.tile<16x32xf32, fragments>)"),
                  "carries its state in one argument");
  expect_contains(error("warp.yield %S : !warp.tile<16x32xf32, fragments>",
                        "warp.yield %square : !warp.tile<16x16xf32, fragments>"),
                  "ends with a warp.yield of '!warp.tile<16x32xf32, fragments>'");
  expect_contains(error("    warp.yield %S : !warp.tile<16x32xf32, fragments>\n", ""), "ends with a warp.yield");
  expect_contains(error("  %k_ring", "^bb0(%z: index):\n  %k_ring"), "takes no arguments");
}

TEST(BatchSums, AreOfRowsThatAreStored) {
  auto error = [](const std::string& over, const std::string& dtype) {
    return error_of(
        "warp.batch_sum \"sum\" for \"example\" chunk 16 head 32 x 48 compute \"f16\" arch \"sm_90a\" from "
        "\"du_parts\" "
        "to \"du\" over \"" +
        over + "\" as " + dtype + "\n");
  };
  expect_contains(error("T", "f32"), "sums over \"T\"; expected \"K\", \"V\" or \"1\"");
  expect_contains(error("K", "i8"), "is stored as 'i8'; expected f32, f16 or bf16");
}

TEST(Summaries, HaveRowsForTheirMaps) {
  const std::string two = "warps 2 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 0";
  expect_contains(error_of(summary(two)), "has 2 warps for 48 rows of states and maps; expected one for each 16");
  expect_contains(
      error_of(summary("warps 3 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 0", "full")),
      "has 3 warps for 64 rows of states and maps");
  expect_contains(
      error_of(summary("warps 3 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 0", "square")),
      "has a \"square\" map; expected full or diagonal");
  expect_contains(error_of(summary("warps 3 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 32 x 32 shared 0",
                                   "diagonal", "257")),
                  "a schedule's grid has segments = 257; expected 1 to 256");
}

TEST(Summaries, GoToSegmentsOfTheirSize) {
  for (const char* dims : {"B,H,4,K", "B,H,3,48,K", "B,H,4,40,K", "B,H,4,V,K", "B,T,4,48,K", "B,H,4,48,V"}) {
    std::string text = summary();
    text.replace(text.find("B,H,4,48,K"), 10, dims);
    expect_contains(error_of(text), std::string("\"segment_states\" has the dims ") + dims +
                                        "; expected B,H,4,64,K, or 48 rows with diagonal maps");
  }
}

TEST(Summaries, AloneStartFromMaps) {
  expect_contains(error_of(with("%0 = warp.start_summary : !warp.tile<16x32xf32, fragments>\n")),
                  "belongs in a summary kernel");
}

TEST(Combinations, AreOfSeveralSegments) {
  auto combine = [](const char* segments, const char* map, const char* initial = "initial_state",
                    const char* block = "strips 1 map_rows 16 shared 128") {
    return std::string(
               "warp.combine \"example_combine\" for \"example\" chunk 16 head 32 x 48 compute \"f16\" arch "
               "\"sm_90a\" from \"") +
           initial + "\" in \"segment_states\" segments " + segments + " map \"" + map + "\" " + block + "\n";
  };
  expect_contains(error_of(combine("1", "full")), "combines 1 segments; expected 2 to 256");
  expect_contains(error_of(combine("4", "round")), "has a \"round\" map; expected full or diagonal");
  expect_contains(error_of(combine("4", "full", "a b")), "is not an identifier");
  std::string other = combine("4", "full");
  expect_contains(error_of(other.replace(other.find("sm_90a"), 6, "sm_100a")), "arch is \"sm_100a\"; expected sm_90a");
  const auto of_block = [&](const char* block) { return error_of(combine("4", "full", "initial_state", block)); };
  expect_contains(of_block("strips 2 map_rows 16 shared 0"), "has 2 strips; expected a divisor of 3");
  expect_contains(of_block("strips 1 map_rows 24 shared 0"), "has 24 map_rows; expected a divisor of 32 keys");
  expect_contains(of_block("strips 1 map_rows 16 shared 232449"), "has 232449 bytes of shared memory; expected 0 or");
}

TEST(Tensors, AreMovedAsTheyAre) {
  const auto error = [](const std::string& tensor, const std::string& other) {
    std::string text = with("");
    return error_of(text.replace(text.find(tensor), tensor.size(), other));
  };
  expect_contains(error("input k bf16", "input k f16"), "moves bf16; \"k\" is of f16");
}

}  // namespace
}  // namespace wkvc::test
