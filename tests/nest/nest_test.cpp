// Nests that are written by hand: each parses, is right, and prints what it was read from; and what is wrong is refused
// at its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "codegen/ir/Text.h"
#include "codegen/nest/Nest.h"
#include "runtime/error.h"
#include "tests/nest/texts.h"

namespace wkvc::test {
namespace {

constexpr int kMostLines = 200;  // of a nest that a person can read

std::vector<std::filesystem::path> text_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(WKVC_NEST_TEXTS)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string reprinted(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nest::NestDialect>();
  return print(&parse(text, context)->getBody()->front());
}

// The message for a text with an edit, which has to be possible, without the name of the text; empty where it is right.
std::string refusal_of(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "there is no '" + from + "'";
  text.replace(at, from.size(), to);
  try {
    reprinted(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Nest, TextsAreRightAndShort) {
  ASSERT_GE(text_files().size(), 9U);
  for (const auto& file : text_files()) {
    const std::string text = text_of(file);
    EXPECT_LE(std::ranges::count(text, '\n'), kMostLines) << file;
    EXPECT_NO_THROW({
      const std::string printed = reprinted(text);
      EXPECT_EQ(reprinted(printed), printed) << file;
    }) << file;
  }
}

struct Mistake {
  std::string from, to, message;
};

class NestMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(NestMistakes, AreRefusedAtTheirLine) {
  const auto& [from, to, message] = GetParam();
  const std::string text = text_named("gdn_c64_forward");
  EXPECT_THAT(refusal_of(text, from, to), testing::HasSubstr(message));
}

INSTANTIATE_TEST_SUITE_P(
    Of, NestMistakes,
    testing::Values(
        Mistake{"      %pairs = nest.get %P : !square16\n", "      %pairs = nest.get %T : !square16\n",
                "line 29: 'nest.channel' op nobody gets the tiles of this channel: leave it out"},
        Mistake{"nest.put %pairs into %P", "nest.put %pairs into %T",
                "line 28: 'nest.channel' op has two producers, 'read' and 'write': a channel has one"},
        Mistake{"      nest.put %pairs into %P : !operand to !square16\n", "",
                "line 29: 'nest.channel' op nobody puts a tile into this channel"},
        Mistake{"      nest.release %T : !square16\n", "", "role 'state' does not release each tile that it gets"},
        Mistake{"ahead 1 into %k", "ahead 3 into %k",
                "line 44: 'nest.load' op roles wait for each other for ever: 'read' here, in chunk 3"},
        Mistake{"registers 192", "registers 240",
                "line 135: 'nest.role' op roles up to this one have 77824 registers, a multiprocessor 65536"},
        Mistake{"\"state\" copies 2 warps 4 registers 192", "\"state\" copies 2 warps 4 registers 96",
                "tiles of a thread take"},
        Mistake{"%v = nest.channel depth 3", "%v = nest.channel depth 5",
                "bytes of shared memory, the kernel has 232448: give a channel less depth"},
        Mistake{"shared 232448", "shared 300000", "300000 bytes of shared memory, a block at most 232448"},
        Mistake{"\"wgmma.registers\" %W, %inverse_t", "\"wgmma.shared\" %W, %inverse_t",
                "'wgmma.shared' takes x as swizzled, not operand"},
        Mistake{"nest.issue \"wgmma.registers\" %W, %inverse_t", "nest.issue \"mma.sync\" %W, %inverse_t",
                "'mma.sync' is not asynchronous: use nest.multiply"},
        Mistake{"\"wgmma.registers\" %W", "\"tcgen05\" %W",
                "'tcgen05' is no family of instructions: mma.sync, wgmma.shared, wgmma.registers"},
        Mistake{"      %next = nest.await %next0 : !state\n", "      %next = nest.compute \"zero\"() : () -> !state\n",
                "is waited for once, by a nest.await of the same sweep"},
        Mistake{"      nest.release %k : !keys\n      %d", "      %d", "role 'write' does not release each tile"},
        Mistake{"      %KK = nest.await %started : !sums\n      nest.release %k : !keys\n",
                "      nest.release %k : !keys\n      %KK = nest.await %started : !sums\n",
                "this tile is still read by a product under way: wait for the product first"},
        Mistake{
            "!square16 = !nest.tile<64x64xf16, swizzled>", "!square16 = !nest.tile<64x64xf16, fragments>",
            "line 28: 'nest.channel' op carries tiles in shared memory (swizzled, padded or plain), not as fragments"},
        Mistake{"depth 3 over %q", "depth 2 over %q", "lies over a channel of the same depth"},
        Mistake{"64x16xf16, operand>\n", "64x16xf16, operands>\n", "expected rows, columns, an element and a layout"},
        Mistake{"!keys = !nest.tile<64x128xbf16", "!keys = !nest.tile<64x96xbf16",
                "line 22: 'nest.channel' op swizzled rows are multiples of 128 bytes, not of 192"},
        Mistake{"nest.sweep \"chunks\" carry %initial", "nest.sweep \"chunks\" backward carry %initial",
                "role 'state' gets other chunks, or in another order, than role 'read' puts"},
        Mistake{"nest.elementwise exp2 %sums : !tokens", "nest.elementwise exp2 %sums, %sums : !tokens, !tokens",
                "'nest.elementwise' op exp2 takes 1 operand, not 2"},
        Mistake{"%L = nest.row %d[0]", "%L = nest.row %d[5]", "'nest.row' op is a row of a plain tile, not [5] of"},
        Mistake{"%last = nest.element %sums[63]", "%last = nest.element %sums[64]", "is a number of a row"},
        Mistake{"nest.level 32 %L", "nest.level 64 %L", "takes 16 or 32 rows of 64x64xf32, sums, not 64"},
        Mistake{"!blocks16 = !nest.tile<64x16xf16", "!blocks16 = !nest.tile<64x16xbf16",
                "makes 64x16xf16, operand, twice, of 64x64xf32, sums"},
        Mistake{"!blocks = !nest.tile<64x16xf32", "!blocks = !nest.tile<64x32xf32",
                "makes 64x16xf32, operand, of a column of 64 numbers or of one"},
        Mistake{"set_blocks %solved#0 : !blocks16", "set_blocks %L2_16 : !operand",
                "sets blocks, 64x16, of such a tile"},
        Mistake{"nest.set_blocks %ones16 into", "nest.set_blocks level %ones16 into",
                "of a level comes before the blocks on the diagonal"},
        Mistake{"constant 0.0 : !outputs", "constant 1.0 : !outputs", "is a number, 1x1xf32, or zeros in registers"},
        Mistake{"%initial = nest.load_state \"initial_state\" : !state",
                "%initial = nest.compute \"zero\"() : () -> !state", "'zero' has no meaning that can be emitted"},
        Mistake{"registers 64 {", "registers 60 {", "24 to 240 registers, a multiple of 8, not 60"}));

constexpr const char* kGuard = "      nest.guard %O16 : !outputs\n";

INSTANTIATE_TEST_SUITE_P(
    OfGuards, NestMistakes,
    testing::Values(
        Mistake{kGuard, "", "line 67: 'nest.convert' op rounds to f16, and no nest.guard sees what comes of the tile"},
        Mistake{"      %pairs = nest.decayed_pairs unmasked",
                "      nest.guard %KK : !sums\n      %pairs = nest.decayed_pairs unmasked",
                "line 93: 'nest.guard' op sees a tile that nothing rounded to f16 comes to: leave the guard out"},
        Mistake{"      %O16 = nest.convert %O :",
                "      %hidden = nest.elementwise exp2 %O : !sums -> !sums\n      %O16 = nest.convert %hidden :",
                "line 67: 'nest.convert' op rounds to f16, and no nest.guard sees what comes of the tile"},
        Mistake{"      %O16 = nest.convert %O : !sums -> !outputs\n" + std::string(kGuard),
                "      nest.guard %O : !sums\n      %twice = nest.elementwise add %O, %O : !sums, !sums -> !sums\n"
                "      %O16 = nest.convert %twice : !sums -> !outputs\n",
                "line 186: 'nest.store' op stores a tile that no nest.guard has seen"},
        Mistake{"      nest.put %before_t", "      nest.guard %before_t : !outputs\n      nest.put %before_t",
                "sees a tile as it lies in registers: guard the tile before nest.transpose"},
        Mistake{"      nest.store %own_outputs",
                "      nest.guard %own_outputs : !values\n      nest.store %own_outputs",
                "sees a matrix in registers, not '!nest.tile<64x64xbf16, swizzled>'"},
        Mistake{" expects [\"q\", \"k\", \"v\"]", "",
                "that is guarded `expects` inputs and has a tensor \"forward_refused\", not one of the two"},
        Mistake{"\"workspace forward_refused f32 B,H,1,1\", ", "",
                "that is guarded `expects` inputs and has a tensor \"forward_refused\", not one of the two"},
        Mistake{"expects [\"q\"", "expects [\"o\"", "expects \"o\" to be of ordinary size, which is no input"},
        Mistake{"forward_refused f32 B,H,1,1", "forward_refused f32 B,H,2,1",
                "expected \"workspace forward_refused f32 B,H,1,1\""},
        Mistake{"    nest.store_state %last#0 to \"final_state\" : !state\n", "",
                "that is guarded has one role that stores a state, not 0"},
        Mistake{
            "\"final_state\" : !state\n", "\"final_state\" : !state\n    nest.guard %last#0 : !state\n",
            "line 196: 'nest.guard' op stands behind nest.store_state, before which the roles of a guarded kernel"}));

TEST(Nest, GuardsStandInGuardedKernels) {
  const std::string text = edited(text_named("gdn_c64_forward"), " expects [\"q\", \"k\", \"v\"]", "");
  EXPECT_THAT(refusal_of(text, "\"workspace forward_refused f32 B,H,1,1\", ", ""),
              testing::HasSubstr("line 182: 'nest.guard' op stands in a kernel that `expects` no inputs"));
}

TEST(Nest, CopiesThatAreDealtChunksLoadTheirOwn) {
  const std::string text = text_named("rwkv7_forward_teams");
  EXPECT_THAT(refusal_of(text, "nest.load \"r\" into", "nest.load \"r\" ahead 1 into"),
              testing::HasSubstr("in a dealt sweep a copy loads its own chunks: leave `ahead` out"));
  EXPECT_THAT(refusal_of(text, "%r = nest.channel depth 4", "%r = nest.channel depth 1"), "");
  EXPECT_THAT(refusal_of(text, "%a_in = nest.channel depth 4", "%a_in = nest.channel depth 1"), "");
  EXPECT_THAT(refusal_of(text, "      nest.release %w : !token\n", ""),
              testing::HasSubstr("role 'team' does not release each tile that it gets"));
}

TEST(Nest, BlocksOfAClusterShareWhatOneOfThemMakes) {
  const std::string text = text_named("rwkv7_forward_cluster");
  EXPECT_THAT(refusal_of(text, "%M = nest.channel depth 4 across", "%M = nest.channel depth 4"),
              testing::HasSubstr("one block puts tiles that all blocks of the cluster get: say `across`"));
  EXPECT_THAT(refusal_of(text, "%w = nest.channel depth 2", "%w = nest.channel depth 2 across"),
              testing::HasSubstr("goes across no cluster: each block puts what it gets"));
  EXPECT_THAT(refusal_of(text, "cluster 2", "cluster 3"),
              testing::HasSubstr("has a cluster of 3 blocks; expected 1, 2, 4 or 8"));
  EXPECT_THAT(refusal_of(text, "cluster 2", "parts 33"),
              testing::HasSubstr("attribute 'parts' failed to satisfy constraint"));
}

TEST(Nest, ARoundNeedsASlotForEachOfItsChunks) {
  const std::string text = text_named("rwkv7_forward_rounds");
  EXPECT_THAT(refusal_of(text, "%M = nest.channel depth 2", "%M = nest.channel depth 1"),
              testing::HasSubstr("roles wait for each other for ever"));
}

TEST(Nest, OneChannelLiesOverAnother) {
  const std::string text = text_named("gdn_c64_forward");
  EXPECT_THAT(refusal_of(text, "%k16 = nest.channel depth 3 over %k", "%k16 = nest.channel depth 3 over %q"),
              testing::HasSubstr("lies over a channel that another one lies over, too"));
}

TEST(Nest, NumbersOfTf32AreReadAlongRows) {
  const std::string text = text_named("kda_c64_forward");
  EXPECT_THAT(refusal_of(text, "%a, %b_t : !rows, !columns_t", "%a, %b : !rows, !columns"),
              testing::HasSubstr("reads tf32 along rows alone: x as it lies, and y through nest.transpose"));
}

TEST(Nest, SweepsOverAGroupStandInOneOverGroups) {
  const std::string text = text_named("rwkv7_backward");
  EXPECT_THAT(refusal_of(text, "nest.sweep \"groups\" of 4 backward", "nest.sweep \"chunks\" backward"),
              testing::HasSubstr("a sweep over a \"group\" stands in one over \"groups\""));
  EXPECT_THAT(refusal_of(text, "\"groups\" of 4", "\"groups\""), testing::HasSubstr("says `of` 2 to 64 chunks"));
  EXPECT_THAT(refusal_of(text, "nest.yield %dS_next : !state", "nest.yield %dS_next, %dS : !state, !state"),
              testing::HasSubstr("carries what its body takes and yields"));
}

}  // namespace
}  // namespace wkvc::test
