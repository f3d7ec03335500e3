// What the warp dialect refuses in the loop over chunks.
#include "tests/warp/cases.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

class LinesOfTheLoop : public testing::TestWithParam<Case> {};

TEST_P(LinesOfTheLoop, AreRefused) { expect_contains(error_of(with(GetParam().lines)), GetParam().error); }

const Case lines[] = {
    {"Syntax", "warp.barrier 3\n", "line 18: "},
    {"UnknownOperation", "warp.fence\n", "warp.fence"},
    {"ForeignOperation",
     "%0 = \"builtin.unrealized_conversion_cast\"(%t) : (!warp.tile<16x32xf32, fragments>) -> i32\n",
     "does not belong in a warp.kernel"},
    {"UndefinedValue",
     "%0 = warp.call \"neg\"(%u) : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<16x32xf32, fragments>\n",
     "the value %u is used before it is defined"},
    {"UsedOutsideItsBlock",
     "warp.on_warp 0 {\n%0 = warp.zeros : !warp.tile<16x16xf32, fragments>\n}\nwarp.store_output \"o\" %0 as bf16 : "
     "!warp.tile<16x16xf32, fragments>\n",
     "line 21: the value %0 is used before it is defined"},
    {"TileDtype", "%0 = warp.zeros : !warp.tile<16x16xf64, fragments>\n", "elements of tiles are not 'f64'"},
    {"TileRank", "%0 = warp.zeros : !warp.tile<16xf32, plain>\n", "must be tile of f32 in registers"},
    {"TileSize", "%0 = warp.zeros : !warp.tile<16x24xf32, fragments>\n",
     "sizes of tiles are 1 or multiples of 16 up to 256"},
    {"TileHuge", "%0 = warp.zeros : !warp.tile<1600000000x1600000000xf32, fragments>\n",
     "sizes of tiles are 1 or multiples of 16"},
    {"TileLayout", "%0 = warp.zeros : !warp.tile<16x16xf32, striped>\n",
     "expected rows, columns, an element and a layout"},
    {"CallUnknown",
     "%0 = warp.call \"cos\"(%t) : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<16x32xf32, fragments>\n",
     "templates/ has no function \"cos\""},
    {"CallArity",
     "%0 = warp.call \"neg\"(%t, %t) : (!warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "\"neg\" takes 1 tiles, not 2"},
    {"CallNothing", "%0 = warp.call \"neg\"() : () -> !warp.tile<16x32xf32, fragments>\n",
     "\"neg\" takes 1 tiles, not 0"},
    {"CallShared", "%0 = warp.call \"neg\"(%x) : (!warp.tile<16x32xf32, shared>) -> !warp.tile<16x32xf32, fragments>\n",
     "\"neg\" takes tiles in registers"},
    {"CallRegisters",
     "%0 = warp.call \"diagonal_dot\"(%t, %t) : (!warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf32, fragments>) "
     "-> !warp.tile<16x16xf32, fragments>\n",
     "\"diagonal_dot\" takes tiles in shared memory"},
    {"CallDtype",
     "%b = warp.round %t : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xbf16, fragments>\n"
     "%0 = warp.call \"neg\"(%b) : (!warp.tile<16x32xbf16, fragments>) -> !warp.tile<16x32xf32, fragments>\n",
     "\"neg\" takes tiles of f32"},
    {"CallWithoutConstant",
     "%0 = warp.call \"maximum\"(%t) : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<16x32xf32, fragments>\n",
     "\"maximum\" takes a constant"},
    {"CallWithConstant",
     "%0 = warp.call \"neg\"(%t) with 1.0 : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<16x32xf32, fragments>\n",
     "\"neg\" takes no constant"},
    {"CallNotFinite",
     "%0 = warp.call \"maximum\"(%t) with 0x7FC00000 : (!warp.tile<16x32xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "needs a finite number"},
    {"CallShape",
     "%0 = warp.call \"neg\"(%t) : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<32x16xf32, fragments>\n",
     "where 16x32 is expected"},
    {"CallSquare",
     "%0 = warp.call \"tril\"(%t) : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<16x32xf32, fragments>\n",
     "takes a square tile"},
    {"CallRowOutside",
     "%0 = warp.call \"row\"(%t) with 16.0 : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<1x32xf32, fragments>\n",
     "of a tile with 16 rows"},
    {"CallRowNegative",
     "%0 = warp.call \"row\"(%t) with -1.0 : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<1x32xf32, fragments>\n",
     "of a tile with 16 rows"},
    {"CallRowFraction",
     "%0 = warp.call \"row\"(%t) with 0.5 : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<1x32xf32, fragments>\n",
     "of a tile with 16 rows"},
    {"CallAtRowOutside",
     "%z = warp.zeros : !warp.tile<1x32xf32, fragments>\n"
     "%0 = warp.call \"at_row\"(%z) with 16.0 : (!warp.tile<1x32xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "of a tile with 16 rows"},
    {"CallAtRowOfATile",
     "%0 = warp.call \"at_row\"(%t) with 0.0 : (!warp.tile<16x32xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "where 1x32 is expected"},
    {"CallSumColumns",
     "%0 = warp.call \"sum_columns\"(%t) : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<1x32xf32, fragments>\n",
     "where 16x1 is expected"},
    {"CallSumRows",
     "%0 = warp.call \"sum_rows\"(%t) : (!warp.tile<16x32xf32, fragments>) -> !warp.tile<16x1xf32, fragments>\n",
     "where 1x32 is expected"},
    {"CallDiagonal",
     "%0 = warp.call \"diagonal_column\"(%square) : (!warp.tile<16x16xf32, fragments>) -> "
     "!warp.tile<1x16xf32, fragments>\n",
     "where 16x1 is expected"},
    {"CallLevelOfThree",
     "%0 = warp.call \"upper_rows\"(%t) with 3.0 : (!warp.tile<16x32xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "expected a power of two below 16"},
    {"CallLevelOfTheTile",
     "%0 = warp.call \"lower_rows\"(%t) with 16.0 : (!warp.tile<16x32xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "expected a power of two below 16"},
    {"CallLevelPairs",
     "%0 = warp.call \"level_pairs\"(%t) with 8.0 : (!warp.tile<16x32xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "takes a square tile"},
    {"CallSelectHalves",
     "%0 = warp.call \"select_halves\"(%t, %square) with 8.0 : (!warp.tile<16x32xf32, fragments>, "
     "!warp.tile<16x16xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "where 16x32 is expected"},
    {"CallBroadcast",
     "%0 = warp.call \"add\"(%t, %square) : (!warp.tile<16x32xf32, fragments>, !warp.tile<16x16xf32, fragments>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "do not broadcast to"},
    {"CallDiagonalDot",
     "%0 = warp.call \"diagonal_dot\"(%k, %x) : (!warp.tile<16x32xbf16, shared>, !warp.tile<16x32xf32, shared>) -> "
     "!warp.tile<16x32xf32, fragments>\n",
     "where 16x16 is expected"},
    {"RoundScales",
     "%s = warp.scale_for %k_max times 1.0 : !warp.tile<1xf32, plain>\n"
     "%0 = warp.round %t scale %s own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xf16, fragments>\n",
     "has more than one of a scale given, one of its own"},
    {"RoundDtype", "%0 = warp.round %t own : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xbf16, fragments>\n",
     "only f16 operands carry a scale"},
    {"RoundShape", "%0 = warp.round %t : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x16xf16, fragments>\n",
     "where 16x32 is expected"},
    {"MmaDtypes",
     "%0 = warp.mma %square, %t, %k : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf32, fragments>, "
     "!warp.tile<16x32xbf16, shared>\n",
     "operands must have one dtype"},
    {"MmaTransposed",
     "%0 = warp.mma %square, %t x_transposed, %t : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf32, fragments>, "
     "!warp.tile<16x32xf32, fragments>\n",
     "only operands in shared memory are read transposed"},
    {"MmaScale",
     "%s = warp.scale_for %k_max times 1.0 : !warp.tile<1xf32, plain>\n"
     "%z = warp.zeros : !warp.tile<16x32xf32, fragments>\n"
     "%0 = warp.mma %square, %z x_scale %s, %t : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf32, fragments>, "
     "!warp.tile<16x32xf32, fragments>\n",
     "operands in registers carry their scales themselves"},
    {"MmaContraction",
     "%0 = warp.mma %square, %t, %square : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf32, fragments>, "
     "!warp.tile<16x16xf32, fragments>\n",
     "contracts 32 with 16 elements"},
    {"MmaFactorsCount",
     "%0 = warp.mma %square, %t, %t factors [\"t\"] : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf32, fragments>\n",
     "factors are two names of values, each with ^T behind it where it is transposed, got [\"t\"]"},
    {"MmaFactorsNames",
     "%0 = warp.mma %square, %t, %t factors [\"t\", \"t; x = 1\"] : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x32xf32, fragments>, "
     "!warp.tile<16x32xf32, fragments>\n",
     "factors are two names of values"},
    {"MmaAccumulator",
     "%0 = warp.mma %t, %t, %t : !warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf32, fragments>, "
     "!warp.tile<16x32xf32, fragments>\n",
     "makes 16x16, the accumulator is"},
    {"MmaTriangle",
     "%0 = warp.mma %square, %square x_triangle left, %square : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x16xf32, fragments>\n",
     "[lower, upper]"},
    {"MmaTwoTriangles",
     "%0 = warp.mma %square, %square x_triangle lower, %square y_triangle upper : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x16xf32, fragments>, !warp.tile<16x16xf32, fragments>\n",
     "takes one of its operands for triangular"},
    {"MmaTriangleOfKeys",
     "%0 = warp.mma %square, %t x_triangle lower, %t : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf32, fragments>\n",
     "has a triangular operand of 16x32; expected a square one"},
    {"MmaTriangleByGroups",
     "%h16 = warp.round %square : !warp.tile<16x16xf32, fragments> -> !warp.tile<16x16xf16, fragments>\n"
     "%0 = warp.mma %square, %h16 x_triangle lower, %h16 family wgmma_registers : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x16xf16, fragments>, "
     "!warp.tile<16x16xf16, fragments>\n",
     "takes no triangular operands by groups"},
    {"PowerOfAState", "%0 = warp.times_power %S exponent 65 : !warp.tile<16x32xf32, fragments>\n",
     "its exponent is 65; expected -64 to 64"},
    {"NumberOfAnExponent",
     "%0 = warp.own_scale %S times 1.000000e+00 : !warp.tile<16x32xf32, fragments>\n"
     "%1 = warp.plus_exponent %S, %0 number 0x7F800000 : !warp.tile<16x32xf32, fragments>\n",
     "needs a finite number"},
    {"MmaByGroupsOfARing",
     "%z = warp.zeros : !warp.tile<16x16xf32, fragments>\n%w = warp.load %k : !warp.tile<16x32xbf16, shared> -> "
     "!warp.tile<16x32xbf16, fragments>\n"
     "%0 = warp.mma %z, %w, %k family wgmma_registers : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x32xbf16, fragments>, !warp.tile<16x32xbf16, shared>\n",
     "'wgmma.registers' takes y as matrices, not shared"},
    {"MmaByGroupsOfF32",
     "%z = warp.zeros : !warp.tile<16x16xf32, fragments>\n"
     "%0 = warp.mma %z, %t, %x family wgmma_registers : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf32, shared>\n",
     "'wgmma.registers' takes y as matrices, not shared"},
    {"MmaByGroupsOfSharedX",
     "%0 = warp.mma %square, %k_early, %k_early family wgmma_registers : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x32xbf16, matrices>, !warp.tile<16x32xbf16, matrices>\n",
     "'wgmma.registers' takes x as fragments, not matrices"},
    {"MatricesOfF32", "%0 = warp.zeros : !warp.tile<16x16xf32, matrices>\n",
     "wgmma reads elements of 16 bits, not 'f32'"},
    {"MmaByGroupsOfFewColumns",
     "%w = warp.round %square : !warp.tile<16x16xf32, fragments> -> !warp.tile<16x16xbf16, fragments>\n"
     "%0 = warp.mma %t, %w, %k_early y_transposed family wgmma_registers : !warp.tile<16x32xf32, fragments>, "
     "!warp.tile<16x16xbf16, fragments>, "
     "!warp.tile<16x32xbf16, matrices>\n",
     "by groups makes 16 rows by multiples of 64, not"},
    {"MmaByGroupsWithoutTeams",
     "%w = warp.round %t : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xbf16, fragments>\n"
     "%0 = warp.mma %square, %w, %k_early family wgmma_registers : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x32xbf16, fragments>, "
     "!warp.tile<16x32xbf16, matrices>\n",
     "by groups belongs in the sweep over a round of a plain kernel whose warps of value rows 4 divides"},
    {"CopyOfABuffer", "warp.copy %x ahead 1 : !warp.tile<16x32xf32, shared>\n", "needs a ring"},
    {"CopyIntoTheCurrentOne", "warp.copy %k_ring ahead 3 : !warp.tile<16x32xbf16, shared>\n",
     "is of chunk 3 from here, into a ring of 2 stages"},
    {"CopyBehind", "warp.copy %k_ring ahead -1 : !warp.tile<16x32xbf16, shared>\n", "ahead is -1; expected 0 to 120"},
    {"CurrentOfABuffer", "%0 = warp.current %x : !warp.tile<16x32xf32, shared>\n", "needs a ring"},
    {"LoadOfARing", "%0 = warp.load %k_ring : !warp.tile<16x32xbf16, shared> -> !warp.tile<16x32xbf16, fragments>\n",
     "can't take a ring"},
    {"WaitNegative", "warp.wait_copies -1\n", "the number of pending copies is -1"},
    {"ScaleOfNothing", "%0 = \"warp.scale_for\"() {factor = 1.0 : f32} : () -> f32\n",
     "needs the maxima of at least one tensor"},
    {"ScaleOfTooFew", "%0 = warp.scale_for %k_max counts [1, 1] times 1.0 : !warp.tile<1xf32, plain>\n",
     "needs counts above 0 that add up to its slots"},
    {"ScaleOfAnEmptyProduct", "%0 = warp.scale_for %k_max counts [1, 0] times 1.0 : !warp.tile<1xf32, plain>\n",
     "needs counts above 0 that add up to its slots"},
    {"ScaleNegative", "%0 = warp.scale_for %k_max times -1.0 : !warp.tile<1xf32, plain>\n", "has a negative factor"},
    {"ScaleNotFinite", "%0 = warp.scale_for %k_max times 0x7F800000 : !warp.tile<1xf32, plain>\n",
     "needs a finite number"},
    {"ScaleOfARow", "%0 = warp.scale_for %row times 1.0 : !warp.tile<32xf32, plain>\n", "one for each of the 2 warps"},
    {"OwnScaleNegative", "%0 = warp.own_scale %t times -1.0 : !warp.tile<16x32xf32, fragments>\n",
     "has a negative factor"},
    {"OwnScaleNotFinite", "%0 = warp.own_scale %t times 0x7F800000 : !warp.tile<16x32xf32, fragments>\n",
     "needs a finite number"},
    {"PublishToARow", "warp.publish_max %k, %row : !warp.tile<16x32xbf16, shared>, !warp.tile<32xf32, plain>\n",
     "has 32 slots; expected one"},
    {"PublishOfRegisters", "warp.publish_max %t, %k_max : !warp.tile<16x32xf32, fragments>, !warp.tile<1xf32, plain>\n",
     "expected one for each of the 2 warps"},
    {"PublishOfABuffer", "warp.publish_max %x, %k_max : !warp.tile<16x32xf32, shared>, !warp.tile<1xf32, plain>\n",
     "takes only the current one of a ring"},
    {"PublishTwice",
     "warp.publish_max %k, %k_max : !warp.tile<16x32xbf16, shared>, !warp.tile<1xf32, plain>\n"
     "warp.publish_max %k, %k_max : !warp.tile<16x32xbf16, shared>, !warp.tile<1xf32, plain>\n",
     "is published once"},
    {"PublishOnOneWarp",
     "warp.on_warp 1 {\n warp.publish_max %k, %k_max : !warp.tile<16x32xbf16, shared>, !warp.tile<1xf32, plain>\n}\n",
     "outside slabs and on_warp"},
    {"CopyOnOneWarp", "warp.on_warp 1 {\n warp.copy %k_ring ahead 1 : !warp.tile<16x32xbf16, shared>\n}\n",
     "outside slabs and on_warp"},
    {"InverseOnAllWarps",
     "%0 = warp.unit_lower_inverse %square, %scratch in \"f16\" : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<192xf32, plain>\n",
     "it belongs in an on_warp"},
    {"InverseOnSharedScratch",
     "warp.on_warp 1 {\n"
     " %0 = warp.unit_lower_inverse %square, %scratch in \"f16\" : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<192xf32, plain>\n"
     " %1 = warp.unit_lower_inverse %0, %scratch in \"f16\" : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<192xf32, plain>\n}\n",
     "a scratch that nothing else uses"},
    {"InverseOfKeys",
     "%0 = warp.unit_lower_inverse %t, %row in \"f16\" : !warp.tile<16x32xf32, fragments>, !warp.tile<32xf32, plain>\n",
     "takes a square tile"},
    {"InverseDtype",
     "%0 = warp.unit_lower_inverse %square, %row in \"f64\" : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<32xf32, plain>\n",
     "has the dtype \"f64\""},
    {"InverseScratch",
     "%0 = warp.unit_lower_inverse %square, %row in \"f16\" : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<32xf32, plain>\n",
     "a scratch of 32 floats; expected 192"},
    {"LoadDtype", "%0 = warp.load %k : !warp.tile<16x32xbf16, shared> -> !warp.tile<16x32xf32, fragments>\n",
     "of '!warp.tile<16x32xbf16, shared>'"},
    {"LoadShape", "%0 = warp.load %k : !warp.tile<16x32xbf16, shared> -> !warp.tile<16x16xbf16, fragments>\n",
     "where 16x32 is expected"},
    {"LoadOwnShape", "%0 = warp.load %k own : !warp.tile<16x32xbf16, shared> -> !warp.tile<16x32xbf16, fragments>\n",
     "where 16x16 is expected"},
    {"LoadTransposedShape",
     "%0 = warp.load %k transposed : !warp.tile<16x32xbf16, shared> -> !warp.tile<16x32xbf16, fragments>\n",
     "where 32x16 is expected"},
    {"StoreToCurrent", "warp.store %b, %k : !warp.tile<16x32xbf16, fragments>, !warp.tile<16x32xbf16, shared>\n",
     "the value %b is used before it is defined"},
    {"StoreToAnInput",
     "%b = warp.round %t : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32xbf16, fragments>\n"
     "warp.store %b, %k : !warp.tile<16x32xbf16, fragments>, !warp.tile<16x32xbf16, shared>\n",
     "stores to a warp.buffer only"},
    {"StoreDtype", "warp.store %t, %h : !warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf16, shared>\n",
     "stores '!warp.tile<16x32xf32, fragments>' to"},
    {"StoreShape", "warp.store %square, %x : !warp.tile<16x16xf32, fragments>, !warp.tile<16x32xf32, shared>\n",
     "where 16x32 is expected"},
    {"LoadVectorShape", "%0 = warp.load_vector %row : !warp.tile<32xf32, plain> -> !warp.tile<1x16xf32, fragments>\n",
     "where 32 numbers are expected"},
    {"LoadVectorOfAMatrix",
     "%0 = warp.load_vector %row : !warp.tile<32xf32, plain> -> !warp.tile<16x16xf32, fragments>\n",
     "where 32 numbers are expected"},
    {"LoadVectorParts",
     "%0 = warp.load_vector %row parts 3 : !warp.tile<32xf32, plain> -> !warp.tile<1x16xf32, fragments>\n",
     "3 parts of"},
    {"LoadVectorNoParts",
     "%0 = warp.load_vector %row parts 0 : !warp.tile<32xf32, plain> -> !warp.tile<1x16xf32, fragments>\n",
     "0 parts of"},
    {"StoreVectorShape",
     "warp.slabs 32 {\n^bb0(%c: index):\nwarp.store_vector %t, %row[%c] : !warp.tile<16x32xf32, fragments>, "
     "!warp.tile<32xf32, plain>\n}\n",
     "stores '!warp.tile<16x32xf32, fragments>' to"},
    {"StoreVectorPart",
     "%0 = warp.zeros : !warp.tile<1x48xf32, fragments>\nwarp.store_vector %0, %row part : "
     "!warp.tile<1x48xf32, fragments>, !warp.tile<32xf32, plain>\n",
     "stores '!warp.tile<1x48xf32, fragments>' to"},
    {"ParameterDtype",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.parameter \"u\"[%c] as i8 : !warp.tile<1x16xf32, fragments>\n}\n",
     "is stored as 'i8'; expected f32, f16 or bf16"},
    {"ParameterShape",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.parameter \"u\"[%c] as bf16 : !warp.tile<1x32xf32, fragments>\n}\n",
     "where 1x16 is expected"},
    {"ParameterRole",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.parameter \"k\"[%c] as bf16 : !warp.tile<1x16xf32, fragments>\n}\n",
     "\"k\" is of the role input; expected parameter"},
    {"OutputDtype", "warp.store_output \"o\" %square as f64 : !warp.tile<16x16xf32, fragments>\n",
     "is stored as 'f64'"},
    {"OutputShape", "warp.store_output \"o\" %t as bf16 : !warp.tile<16x32xf32, fragments>\n",
     "stores 16 columns, not"},
    {"OutputUnknown", "warp.store_output \"y\" %square as bf16 : !warp.tile<16x16xf32, fragments>\n",
     "\"y\" is not among the kernel's tensors"},
    {"OutputToAnInput", "warp.store_output \"k\" %square as bf16 : !warp.tile<16x16xf32, fragments>\n",
     "\"k\" is of the role input; expected output"},
    {"MatrixDtype", "warp.store_matrix \"M\" %square as f64 : !warp.tile<16x16xf32, fragments>\n",
     "is stored as 'f64'"},
    {"MatrixShape", "warp.store_matrix \"M\" %t as f32 : !warp.tile<16x32xf32, fragments>\n",
     "stores a square matrix, not"},
    {"MatrixOfOtherSize",
     "%0 = warp.zeros : !warp.tile<32x32xf32, fragments>\nwarp.store_matrix \"M\" %0 as f32 : "
     "!warp.tile<32x32xf32, fragments>\n",
     "a matrix of 32x32; expected 16x16"},
    {"MatrixToAnOutput", "warp.store_matrix \"o\" %square as f32 : !warp.tile<16x16xf32, fragments>\n",
     "expected kept"},
    {"NextOfNoGroup", "warp.copy %k_ring ahead 0 next : !warp.tile<16x32xbf16, shared>\n",
     "outside a sweep over them that copies ahead"},
    {"NextStateOfNoGroup", "warp.copy_saved \"saved_states\", %staged ahead 0 next : !warp.tile<32x32xbf16, shared>\n",
     "outside a sweep over them that copies ahead"},
    {"NextButOne", "warp.copy %k_ring ahead 1 next : !warp.tile<16x32xbf16, shared>\n",
     "is of the first chunk of what comes next: ahead 0"},
    {"NextStateButOne", "warp.copy_saved \"saved_states\", %staged ahead 1 next : !warp.tile<32x32xbf16, shared>\n",
     "copies the state before it"},
    {"FirstOfNoGroup",
     "warp.copy_saved \"chunk_states\", %staged ahead 1 first_from \"saved_states\" : !warp.tile<32x32xbf16, shared>\n",
     "outside a sweep over them that copies ahead"},
    {"LastOfNoGroup", "warp.keep_state \"chunk_states\" %S as bf16 but_last : !warp.tile<16x32xf32, fragments>\n",
     "outside a sweep over them that copies ahead"},
    {"StageInABuffer", "warp.stage_state %S, %x : !warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf32, shared>\n",
     "needs a warp.staged state"},
    {"TokensOfAParameter", "%0 = warp.tokens \"u\" as bf16 : !warp.tile<16x1xf32, fragments>\n",
     "has the dims H,K; expected H"},
    {"TokensToAnInput",
     "%0 = warp.zeros : !warp.tile<16x1xf32, fragments>\nwarp.store_tokens \"gate\" %0 as f32 : "
     "!warp.tile<16x1xf32, fragments>\n",
     "expected output"},
    {"SumToAnOutput",
     "warp.slabs 32 {\n^bb0(%c: index):\nwarp.store_sum \"o\" %row[%c] : !warp.tile<32xf32, plain>\n}\n",
     "expected workspace"},
    {"SavedFromAnInput", "%0 = warp.load_saved \"k\" : !warp.tile<16x32xbf16, fragments>\n", "expected saved_states"},
    {"SavedToTheFinalState", "warp.save_state \"final_state\" %S as f32 : !warp.tile<16x32xf32, fragments>\n",
     "expected saved_states"},
    {"StateFromAnInput", "%0 = warp.load_state \"k\" : !warp.tile<16x32xf32, fragments>\n", "expected initial_state"},
    {"StateToTheInitialOne", "warp.store_state \"initial_state\" %S : !warp.tile<16x32xf32, fragments>\n",
     "expected final_state"},
    {"SavedOfOtherSize", "%0 = warp.load_saved \"saved_states\" : !warp.tile<16x16xbf16, fragments>\n",
     "expected 16 rows of 32 keys"},
    {"SavedAsStored", "%0 = warp.load_saved \"saved_states\" : !warp.tile<16x32xf32, fragments>\n",
     "moves f32; \"saved_states\" is of bf16"},
    {"SavedAsRounded", "warp.save_state \"saved_states\" %S as f16 : !warp.tile<16x32xf32, fragments>\n",
     "moves f16; \"saved_states\" is of bf16"},
    {"OutputAsStored", "warp.store_output \"o\" %square as f16 : !warp.tile<16x16xf32, fragments>\n",
     "moves f16; \"o\" is of bf16"},
    {"StagedAsStored",
     "%0 = warp.load_staged %staged : !warp.tile<32x32xbf16, shared> -> !warp.tile<16x32xf16, fragments>\n",
     "loads 'f16' of a state of 'bf16'"},
    {"CopySavedToABuffer", "warp.copy_saved \"saved_states\", %x ahead 1 : !warp.tile<16x32xf32, shared>\n",
     "needs a warp.staged state"},
    {"LoadOfAStagedState",
     "%0 = warp.load %staged : !warp.tile<32x32xbf16, shared> -> !warp.tile<32x32xbf16, fragments>\n",
     "can't take a staged state"},
    {"ColumnDotsTypes",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.column_dots %h, %x[%c] : !warp.tile<16x32xf16, shared>, "
     "!warp.tile<16x32xf32, shared> "
     "-> "
     "!warp.tile<1x16xf32, fragments>\n}\n",
     "operands must have one type"},
    {"ColumnDotsShape",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.column_dots %h, %h[%c] : !warp.tile<16x32xf16, shared>, "
     "!warp.tile<16x32xf16, shared> "
     "-> "
     "!warp.tile<1x32xf32, fragments>\n}\n",
     "where 1x16 is expected"},
    {"ColumnDotsOfRegistersAtAColumn",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.load %h[%c] transposed : !warp.tile<16x32xf16, shared> -> "
     "!warp.tile<16x16xf16, fragments>\n"
     "%1 = warp.column_dots %0, %0[%c] : !warp.tile<16x16xf16, fragments>, !warp.tile<16x16xf16, fragments> -> "
     "!warp.tile<1x16xf32, fragments>\n}\n",
     "takes shared operands at a column, or all of what registers hold"},
    {"ColumnDotsWithoutAColumn",
     "%0 = warp.column_dots %h, %h : !warp.tile<16x32xf16, shared>, !warp.tile<16x32xf16, shared> -> "
     "!warp.tile<1x16xf32, fragments>\n",
     "takes shared operands at a column, or all of what registers hold"},
    {"UnitTimesInfinity",
     "%0 = warp.own_scale %S times 1.0 : !warp.tile<16x32xf32, fragments>\n"
     "%1 = warp.times_unit %S, %0 factor 0x7F800000 : !warp.tile<16x32xf32, fragments>\n",
     "needs a finite number"},
    {"OutputOfKeysByRows", "warp.store_output \"number\" %square as f32 : !warp.tile<16x16xf32, fragments>\n",
     "\"number\" has the dims B,T,H; expected B,T,H,V"},
    {"SlabsOfFewerColumns", "warp.slabs 16 {\n^bb0(%c: index):\n}\n", "is over 16 columns; expected 32"},
    {"SlabColumns", "warp.slabs 40 {\n^bb0(%c: index):\n}\n", "has 40 columns; expected a multiple of 16"},
    {"SlabArguments", "warp.slabs 32 {\n  warp.note \"nothing\"\n}\n",
     "has one argument, the index of the first column"},
    {"OnWarpArguments", "warp.on_warp 0 {\n^bb0(%c: index):\n  warp.note \"nothing\"\n}\n", "takes no arguments"},
    {"OnWarpOutside", "warp.on_warp 2 {\n  warp.note \"nothing\"\n}\n", "warp 2 of a block of 2"},
    {"OnWarpNegative", "warp.on_warp -1 {\n  warp.note \"nothing\"\n}\n", "warp -1 of a block of 2"},
    {"BarrierOfOneWarp", "warp.on_warp 0 {\n  warp.barrier\n}\n", "barriers belong outside slabs and on_warp"},
    {"BarrierInSlabs", "warp.slabs 32 {\n^bb0(%c: index):\n  warp.barrier\n}\n", "barriers belong outside slabs"},
    {"BufferInTheLoop", "%0 = warp.buffer offset 0 live 0 to 1 : !warp.tile<16x16xf32, shared>\n",
     "belongs at the top of the kernel"},
    {"LoopInTheLoop",
     "%0 = warp.sweep over chunks carry %S : !warp.tile<16x32xf32, fragments> {\n^bb0(%Z: "
     "!warp.tile<16x32xf32, fragments>):\n  warp.yield %Z : "
     "!warp.tile<16x32xf32, fragments>\n}\n",
     "a sweep over one group or round belongs inside a sweep over those"},
};

INSTANTIATE_TEST_SUITE_P(Warp, LinesOfTheLoop, testing::ValuesIn(lines), name_of_case);

TEST(DecayingStates, AreMultipliedOrSettled) {
  const std::string state = "    %later = warp.decaying %S : !warp.tile<16x32xf32, fragments>\n";
  const auto error = [&](const std::string& own) { return error_of(with(own)); };
  expect_contains(error("    %0 = warp.settled %S : !warp.tile<16x32xf32, fragments>\n"),
                  "takes a state that is still to decay");
  expect_contains(error(state + "    %0 = warp.call \"neg\"(%later) : (!warp.tile<16x32xf32, fragments>) -> "
                                "!warp.tile<16x32xf32, fragments>\n"),
                  "takes no state that is still to decay: take what warp.settled gives");
  expect_contains(error(state + "    %0 = warp.call \"mul\"(%later, %t) : (!warp.tile<16x32xf32, fragments>, "
                                "!warp.tile<16x32xf32, fragments>) -> "
                                "!warp.tile<16x32xf32, fragments>\n"),
                  "takes no state that is still to decay");
  expect_contains(error(state + "    %0 = warp.decaying %later : !warp.tile<16x32xf32, fragments>\n"),
                  "takes no state that is still");
  expect_contains(
      error("    %0 = warp.decaying %S, %t : !warp.tile<16x32xf32, fragments>, !warp.tile<16x32xf32, fragments>\n"),
      "where 1x32 is expected");
  std::string yields = with(state);
  yields.replace(yields.find("warp.yield %S"), 13, "warp.yield %later");
  expect_contains(error_of(yields), "ends with a state that is still to decay only if the sweep began with one");
}

}  // namespace
}  // namespace wkvc::test
