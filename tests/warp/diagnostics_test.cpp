// One case for every diagnostic of the warp dialect: the lines, and what the error says.
#include "codegen/ir/Text.h"
#include "codegen/warp/Warp.h"
#include "tests/expect_error.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

std::string error_of(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  return user_error_of([&] { parse(text, context); });
}

struct Case {
  const char* name;
  std::string lines;
  const char* error;
};

void PrintTo(const Case& c, std::ostream* stream) { *stream << c.name; }

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }

class LinesOfTheLoop : public testing::TestWithParam<Case> {};

TEST_P(LinesOfTheLoop, AreRefused) { expect_contains(error_of(with(GetParam().lines)), GetParam().error); }

const Case lines[] = {
    {"Syntax", "warp.barrier 3\n", "line 17: "},
    {"UnknownOperation", "warp.fence\n", "warp.fence"},
    {"ForeignOperation", "%0 = \"builtin.unrealized_conversion_cast\"(%t) : (vector<16x32xf32>) -> i32\n",
     "does not belong in a warp.kernel"},
    {"UndefinedValue", "%0 = warp.call \"neg\"(%u) : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "the value %u is used before it is defined"},
    {"UsedOutsideItsBlock",
     "warp.on_warp 0 {\n%0 = warp.zeros : vector<16x16xf32>\n}\nwarp.store_output \"o\" %0 as bf16 : "
     "vector<16x16xf32>\n",
     "line 20: the value %0 is used before it is defined"},
    {"TileDtype", "%0 = warp.zeros : vector<16x16xf64>\n", "must be vector of"},
    {"TileRank", "%0 = warp.zeros : vector<16xf32>\n", "must be vector of"},
    {"TileSize", "%0 = warp.zeros : vector<16x24xf32>\n", "sizes of tiles are 1 or multiples of 16 up to 256"},
    {"TileHuge", "%0 = warp.zeros : vector<1600000000x1600000000xf32>\n", "sizes of tiles are 1 or multiples of 16"},
    {"TileScalable", "%0 = warp.zeros : vector<[16]x16xf32>\n", "sizes of tiles are 1 or multiples of 16"},
    {"CallUnknown", "%0 = warp.call \"cos\"(%t) : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "templates/ has no function \"cos\""},
    {"CallArity", "%0 = warp.call \"neg\"(%t, %t) : (vector<16x32xf32>, vector<16x32xf32>) -> vector<16x32xf32>\n",
     "\"neg\" takes 1 tiles, not 2"},
    {"CallNothing", "%0 = warp.call \"neg\"() : () -> vector<16x32xf32>\n", "\"neg\" takes 1 tiles, not 0"},
    {"CallShared", "%0 = warp.call \"neg\"(%x) : (memref<16x32xf32, 3>) -> vector<16x32xf32>\n",
     "\"neg\" takes tiles in registers"},
    {"CallRegisters",
     "%0 = warp.call \"diagonal_dot\"(%t, %t) : (vector<16x32xf32>, vector<16x32xf32>) -> vector<16x16xf32>\n",
     "\"diagonal_dot\" takes tiles in shared memory"},
    {"CallDtype",
     "%b = warp.round %t : vector<16x32xf32> -> vector<16x32xbf16>\n"
     "%0 = warp.call \"neg\"(%b) : (vector<16x32xbf16>) -> vector<16x32xf32>\n",
     "\"neg\" takes tiles of f32"},
    {"CallWithoutConstant", "%0 = warp.call \"maximum\"(%t) : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "\"maximum\" takes a constant"},
    {"CallWithConstant", "%0 = warp.call \"neg\"(%t) with 1.0 : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "\"neg\" takes no constant"},
    {"CallNotFinite", "%0 = warp.call \"maximum\"(%t) with 0x7FC00000 : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "needs a finite number"},
    {"CallShape", "%0 = warp.call \"neg\"(%t) : (vector<16x32xf32>) -> vector<32x16xf32>\n", "where 16x32 is expected"},
    {"CallSquare", "%0 = warp.call \"tril\"(%t) : (vector<16x32xf32>) -> vector<16x32xf32>\n", "takes a square tile"},
    {"CallRowOutside", "%0 = warp.call \"row\"(%t) with 16.0 : (vector<16x32xf32>) -> vector<1x32xf32>\n",
     "of a tile with 16 rows"},
    {"CallRowNegative", "%0 = warp.call \"row\"(%t) with -1.0 : (vector<16x32xf32>) -> vector<1x32xf32>\n",
     "of a tile with 16 rows"},
    {"CallRowFraction", "%0 = warp.call \"row\"(%t) with 0.5 : (vector<16x32xf32>) -> vector<1x32xf32>\n",
     "of a tile with 16 rows"},
    {"CallAtRowOutside",
     "%z = warp.zeros : vector<1x32xf32>\n"
     "%0 = warp.call \"at_row\"(%z) with 16.0 : (vector<1x32xf32>) -> vector<16x32xf32>\n",
     "of a tile with 16 rows"},
    {"CallAtRowOfATile", "%0 = warp.call \"at_row\"(%t) with 0.0 : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "where 1x32 is expected"},
    {"CallSumColumns", "%0 = warp.call \"sum_columns\"(%t) : (vector<16x32xf32>) -> vector<1x32xf32>\n",
     "where 16x1 is expected"},
    {"CallSumRows", "%0 = warp.call \"sum_rows\"(%t) : (vector<16x32xf32>) -> vector<16x1xf32>\n",
     "where 1x32 is expected"},
    {"CallDiagonal", "%0 = warp.call \"diagonal_column\"(%square) : (vector<16x16xf32>) -> vector<1x16xf32>\n",
     "where 16x1 is expected"},
    {"CallLevelOfThree", "%0 = warp.call \"upper_rows\"(%t) with 3.0 : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "expected a power of two below 16"},
    {"CallLevelOfTheTile", "%0 = warp.call \"lower_rows\"(%t) with 16.0 : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "expected a power of two below 16"},
    {"CallLevelPairs", "%0 = warp.call \"level_pairs\"(%t) with 8.0 : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "takes a square tile"},
    {"CallSelectHalves",
     "%0 = warp.call \"select_halves\"(%t, %square) with 8.0 : (vector<16x32xf32>, vector<16x16xf32>) -> "
     "vector<16x32xf32>\n",
     "where 16x32 is expected"},
    {"CallBroadcast",
     "%0 = warp.call \"add\"(%t, %square) : (vector<16x32xf32>, vector<16x16xf32>) -> vector<16x32xf32>\n",
     "do not broadcast to"},
    {"CallDiagonalDot",
     "%0 = warp.call \"diagonal_dot\"(%k, %x) : (memref<16x32xbf16, 3>, memref<16x32xf32, 3>) -> vector<16x32xf32>\n",
     "where 16x16 is expected"},
    {"RoundScales",
     "%s = warp.scale_for %k_max times 1.0 : memref<1xf32, 3>\n"
     "%0 = warp.round %t scale %s own : vector<16x32xf32> -> vector<16x32xf16>\n",
     "has more than one of a scale given, one of its own"},
    {"RoundDtype", "%0 = warp.round %t own : vector<16x32xf32> -> vector<16x32xbf16>\n",
     "only f16 operands carry a scale"},
    {"RoundShape", "%0 = warp.round %t : vector<16x32xf32> -> vector<16x16xf16>\n", "where 16x32 is expected"},
    {"MmaDtypes", "%0 = warp.mma %square, %t, %k : vector<16x16xf32>, vector<16x32xf32>, memref<16x32xbf16, 3>\n",
     "operands must have one dtype"},
    {"MmaTransposed",
     "%0 = warp.mma %square, %t x_transposed, %t : vector<16x16xf32>, vector<16x32xf32>, vector<16x32xf32>\n",
     "only operands in shared memory are read transposed"},
    {"MmaScale",
     "%s = warp.scale_for %k_max times 1.0 : memref<1xf32, 3>\n"
     "%z = warp.zeros : vector<16x32xf32>\n"
     "%0 = warp.mma %square, %z x_scale %s, %t : vector<16x16xf32>, vector<16x32xf32>, vector<16x32xf32>\n",
     "operands in registers carry their scales themselves"},
    {"MmaContraction", "%0 = warp.mma %square, %t, %square : vector<16x16xf32>, vector<16x32xf32>, vector<16x16xf32>\n",
     "contracts 32 with 16 elements"},
    {"MmaFactorsCount",
     "%0 = warp.mma %square, %t, %t factors [\"t\"] : vector<16x16xf32>, vector<16x32xf32>, vector<16x32xf32>\n",
     "factors are two names of values, each with ^T behind it where it is transposed, got [\"t\"]"},
    {"MmaFactorsNames",
     "%0 = warp.mma %square, %t, %t factors [\"t\", \"t; x = 1\"] : vector<16x16xf32>, vector<16x32xf32>, "
     "vector<16x32xf32>\n",
     "factors are two names of values"},
    {"MmaAccumulator", "%0 = warp.mma %t, %t, %t : vector<16x32xf32>, vector<16x32xf32>, vector<16x32xf32>\n",
     "makes 16x16, the accumulator is"},
    {"MmaTriangle",
     "%0 = warp.mma %square, %square x_triangle \"left\", %square : vector<16x16xf32>, vector<16x16xf32>, "
     "vector<16x16xf32>\n",
     "has the triangle \"left\"; expected \"lower\" or \"upper\""},
    {"MmaTwoTriangles",
     "%0 = warp.mma %square, %square x_triangle \"lower\", %square y_triangle \"upper\" : vector<16x16xf32>, "
     "vector<16x16xf32>, vector<16x16xf32>\n",
     "takes one of its operands for triangular"},
    {"MmaTriangleOfKeys",
     "%0 = warp.mma %square, %t x_triangle \"lower\", %t : vector<16x16xf32>, vector<16x32xf32>, vector<16x32xf32>\n",
     "has a triangular operand of 16x32; expected a square one"},
    {"MmaTriangleByGroups",
     "%h16 = warp.round %square : vector<16x16xf32> -> vector<16x16xf16>\n"
     "%0 = warp.mma %square, %h16 x_triangle \"lower\", %h16 by_groups : vector<16x16xf32>, vector<16x16xf16>, "
     "vector<16x16xf16>\n",
     "takes no triangular operands by groups"},
    {"PowerOfAState", "%0 = warp.times_power %S exponent 65 : vector<16x32xf32>\n",
     "its exponent is 65; expected -64 to 64"},
    {"NumberOfAnExponent",
     "%0 = warp.own_scale %S times 1.000000e+00 : vector<16x32xf32>\n"
     "%1 = warp.plus_exponent %S, %0 number 0x7F800000 : vector<16x32xf32>\n",
     "needs a finite number"},
    {"MmaByGroupsOfARing",
     "%z = warp.zeros : vector<16x16xf32>\n%w = warp.load %k : memref<16x32xbf16, 3> -> vector<16x32xbf16>\n"
     "%0 = warp.mma %z, %w, %k by_groups : vector<16x16xf32>, vector<16x32xbf16>, memref<16x32xbf16, 3>\n",
     "by groups takes x in registers and a whole buffer, without scales"},
    {"MmaByGroupsOfF32",
     "%z = warp.zeros : vector<16x16xf32>\n"
     "%0 = warp.mma %z, %t, %x by_groups : vector<16x16xf32>, vector<16x32xf32>, memref<16x32xf32, 3>\n",
     "by groups makes 16 rows by multiples of 16 of operands of 16 bits"},
    {"MmaByGroupsOfFewColumns",
     "%w = warp.round %square : vector<16x16xf32> -> vector<16x16xbf16>\n"
     "%0 = warp.mma %t, %w, %k_early y_transposed by_groups : vector<16x32xf32>, vector<16x16xbf16>, "
     "memref<16x32xbf16, 3>\n",
     "by groups makes 16 rows by multiples of 64 of operands of 16 bits"},
    {"MmaByGroupsWithoutTeams",
     "%w = warp.round %t : vector<16x32xf32> -> vector<16x32xbf16>\n"
     "%0 = warp.mma %square, %w, %k_early by_groups : vector<16x16xf32>, vector<16x32xbf16>, memref<16x32xbf16, 3>\n",
     "by groups belongs in the loop over a round of a plain kernel whose warps of value rows 4 divides"},
    {"CopyOfABuffer", "warp.copy %x ahead 1 : memref<16x32xf32, 3>\n", "needs a ring"},
    {"CopyIntoTheCurrentOne", "warp.copy %k_ring ahead 3 : memref<16x32xbf16, 3>\n",
     "is of chunk 3 from here, into a ring of 2 stages"},
    {"CopyBehind", "warp.copy %k_ring ahead -1 : memref<16x32xbf16, 3>\n", "ahead is -1; expected 0 to 120"},
    {"CurrentOfABuffer", "%0 = warp.current %x : memref<16x32xf32, 3>\n", "needs a ring"},
    {"LoadOfARing", "%0 = warp.load %k_ring : memref<16x32xbf16, 3> -> vector<16x32xbf16>\n", "can't take a ring"},
    {"WaitNegative", "warp.wait_copies -1\n", "the number of pending copies is -1"},
    {"ScaleOfNothing", "%0 = \"warp.scale_for\"() {factor = 1.0 : f32} : () -> f32\n",
     "needs the maxima of at least one tensor"},
    {"ScaleOfTooFew", "%0 = warp.scale_for %k_max counts [1, 1] times 1.0 : memref<1xf32, 3>\n",
     "needs counts above 0 that add up to its slots"},
    {"ScaleOfAnEmptyProduct", "%0 = warp.scale_for %k_max counts [1, 0] times 1.0 : memref<1xf32, 3>\n",
     "needs counts above 0 that add up to its slots"},
    {"ScaleNegative", "%0 = warp.scale_for %k_max times -1.0 : memref<1xf32, 3>\n", "has a negative factor"},
    {"ScaleNotFinite", "%0 = warp.scale_for %k_max times 0x7F800000 : memref<1xf32, 3>\n", "needs a finite number"},
    {"ScaleOfARow", "%0 = warp.scale_for %row times 1.0 : memref<32xf32, 3>\n", "one for each of the 2 warps"},
    {"OwnScaleNegative", "%0 = warp.own_scale %t times -1.0 : vector<16x32xf32>\n", "has a negative factor"},
    {"OwnScaleNotFinite", "%0 = warp.own_scale %t times 0x7F800000 : vector<16x32xf32>\n", "needs a finite number"},
    {"PublishToARow", "warp.publish_max %k, %row : memref<16x32xbf16, 3>, memref<32xf32, 3>\n",
     "has 32 slots; expected one"},
    {"PublishOfRegisters", "warp.publish_max %t, %k_max : vector<16x32xf32>, memref<1xf32, 3>\n",
     "expected one for each of the 2 warps"},
    {"PublishOfABuffer", "warp.publish_max %x, %k_max : memref<16x32xf32, 3>, memref<1xf32, 3>\n",
     "takes only the current one of a ring"},
    {"PublishTwice",
     "warp.publish_max %k, %k_max : memref<16x32xbf16, 3>, memref<1xf32, 3>\n"
     "warp.publish_max %k, %k_max : memref<16x32xbf16, 3>, memref<1xf32, 3>\n",
     "is published once"},
    {"PublishOnOneWarp",
     "warp.on_warp 1 {\n warp.publish_max %k, %k_max : memref<16x32xbf16, 3>, memref<1xf32, 3>\n}\n",
     "outside slabs and on_warp"},
    {"CopyOnOneWarp", "warp.on_warp 1 {\n warp.copy %k_ring ahead 1 : memref<16x32xbf16, 3>\n}\n",
     "outside slabs and on_warp"},
    {"InverseOnAllWarps",
     "%0 = warp.unit_lower_inverse %square, %scratch in \"f16\" : vector<16x16xf32>, memref<192xf32, 3>\n",
     "it belongs in an on_warp"},
    {"InverseOnSharedScratch",
     "warp.on_warp 1 {\n"
     " %0 = warp.unit_lower_inverse %square, %scratch in \"f16\" : vector<16x16xf32>, memref<192xf32, 3>\n"
     " %1 = warp.unit_lower_inverse %0, %scratch in \"f16\" : vector<16x16xf32>, memref<192xf32, 3>\n}\n",
     "a scratch that nothing else uses"},
    {"InverseOfKeys", "%0 = warp.unit_lower_inverse %t, %row in \"f16\" : vector<16x32xf32>, memref<32xf32, 3>\n",
     "takes a square tile"},
    {"InverseDtype", "%0 = warp.unit_lower_inverse %square, %row in \"f64\" : vector<16x16xf32>, memref<32xf32, 3>\n",
     "has the dtype \"f64\""},
    {"InverseScratch", "%0 = warp.unit_lower_inverse %square, %row in \"f16\" : vector<16x16xf32>, memref<32xf32, 3>\n",
     "a scratch of 32 floats; expected 192"},
    {"LoadDtype", "%0 = warp.load %k : memref<16x32xbf16, 3> -> vector<16x32xf32>\n", "of 'memref<16x32xbf16, 3>'"},
    {"LoadShape", "%0 = warp.load %k : memref<16x32xbf16, 3> -> vector<16x16xbf16>\n", "where 16x32 is expected"},
    {"LoadOwnShape", "%0 = warp.load %k own : memref<16x32xbf16, 3> -> vector<16x32xbf16>\n",
     "where 16x16 is expected"},
    {"LoadTransposedShape", "%0 = warp.load %k transposed : memref<16x32xbf16, 3> -> vector<16x32xbf16>\n",
     "where 32x16 is expected"},
    {"StoreToCurrent", "warp.store %b, %k : vector<16x32xbf16>, memref<16x32xbf16, 3>\n",
     "the value %b is used before it is defined"},
    {"StoreToAnInput",
     "%b = warp.round %t : vector<16x32xf32> -> vector<16x32xbf16>\n"
     "warp.store %b, %k : vector<16x32xbf16>, memref<16x32xbf16, 3>\n",
     "stores to a warp.buffer only"},
    {"StoreDtype", "warp.store %t, %h : vector<16x32xf32>, memref<16x32xf16, 3>\n", "stores 'vector<16x32xf32>' to"},
    {"StoreShape", "warp.store %square, %x : vector<16x16xf32>, memref<16x32xf32, 3>\n", "where 16x32 is expected"},
    {"LoadVectorShape", "%0 = warp.load_vector %row : memref<32xf32, 3> -> vector<1x16xf32>\n",
     "where 32 numbers are expected"},
    {"LoadVectorOfAMatrix", "%0 = warp.load_vector %row : memref<32xf32, 3> -> vector<16x16xf32>\n",
     "where 32 numbers are expected"},
    {"LoadVectorParts", "%0 = warp.load_vector %row parts 3 : memref<32xf32, 3> -> vector<1x16xf32>\n", "3 parts of"},
    {"LoadVectorNoParts", "%0 = warp.load_vector %row parts 0 : memref<32xf32, 3> -> vector<1x16xf32>\n", "0 parts of"},
    {"StoreVectorShape",
     "warp.slabs 32 {\n^bb0(%c: index):\nwarp.store_vector %t, %row[%c] : vector<16x32xf32>, memref<32xf32, 3>\n}\n",
     "stores 'vector<16x32xf32>' to"},
    {"StoreVectorPart",
     "%0 = warp.zeros : vector<1x48xf32>\nwarp.store_vector %0, %row part : vector<1x48xf32>, memref<32xf32, 3>\n",
     "stores 'vector<1x48xf32>' to"},
    {"ParameterDtype", "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.parameter \"u\"[%c] as i8 : vector<1x16xf32>\n}\n",
     "is stored as 'i8'; expected f32, f16 or bf16"},
    {"ParameterShape",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.parameter \"u\"[%c] as bf16 : vector<1x32xf32>\n}\n",
     "where 1x16 is expected"},
    {"ParameterRole",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.parameter \"k\"[%c] as bf16 : vector<1x16xf32>\n}\n",
     "\"k\" is of the role input; expected parameter"},
    {"OutputDtype", "warp.store_output \"o\" %square as f64 : vector<16x16xf32>\n", "is stored as 'f64'"},
    {"OutputShape", "warp.store_output \"o\" %t as bf16 : vector<16x32xf32>\n", "stores 16 columns, not"},
    {"OutputUnknown", "warp.store_output \"y\" %square as bf16 : vector<16x16xf32>\n",
     "\"y\" is not among the kernel's tensors"},
    {"OutputToAnInput", "warp.store_output \"k\" %square as bf16 : vector<16x16xf32>\n",
     "\"k\" is of the role input; expected output"},
    {"MatrixDtype", "warp.store_matrix \"M\" %square as f64 : vector<16x16xf32>\n", "is stored as 'f64'"},
    {"MatrixShape", "warp.store_matrix \"M\" %t as f32 : vector<16x32xf32>\n", "stores a square matrix, not"},
    {"MatrixOfOtherSize",
     "%0 = warp.zeros : vector<32x32xf32>\nwarp.store_matrix \"M\" %0 as f32 : vector<32x32xf32>\n",
     "a matrix of 32x32; expected 16x16"},
    {"MatrixToAnOutput", "warp.store_matrix \"o\" %square as f32 : vector<16x16xf32>\n", "expected kept"},
    {"NextOfNoGroup", "warp.copy %k_ring ahead 0 next : memref<16x32xbf16, 3>\n",
     "outside a loop over them that copies ahead"},
    {"NextStateOfNoGroup", "warp.copy_saved \"saved_states\", %staged ahead 0 next : memref<32x32xbf16, 3>\n",
     "outside a loop over them that copies ahead"},
    {"NextButOne", "warp.copy %k_ring ahead 1 next : memref<16x32xbf16, 3>\n",
     "is of the first chunk of what comes next: ahead 0"},
    {"NextStateButOne", "warp.copy_saved \"saved_states\", %staged ahead 1 next : memref<32x32xbf16, 3>\n",
     "copies the state before it"},
    {"FirstOfNoGroup",
     "warp.copy_saved \"chunk_states\", %staged ahead 1 first_from \"saved_states\" : memref<32x32xbf16, 3>\n",
     "outside a loop over them that copies ahead"},
    {"LastOfNoGroup", "warp.keep_state \"chunk_states\" %S as bf16 but_last : vector<16x32xf32>\n",
     "outside a loop over them that copies ahead"},
    {"StageInABuffer", "warp.stage_state %S, %x : vector<16x32xf32>, memref<16x32xf32, 3>\n",
     "needs a warp.staged state"},
    {"TokensOfAParameter", "%0 = warp.tokens \"u\" as bf16 : vector<16x1xf32>\n", "has the dims H,K; expected H"},
    {"TokensToAnInput", "%0 = warp.zeros : vector<16x1xf32>\nwarp.store_tokens \"gate\" %0 as f32 : vector<16x1xf32>\n",
     "expected output"},
    {"SumToAnOutput", "warp.slabs 32 {\n^bb0(%c: index):\nwarp.store_sum \"o\" %row[%c] : memref<32xf32, 3>\n}\n",
     "expected workspace"},
    {"SavedFromAnInput", "%0 = warp.load_saved \"k\" : vector<16x32xbf16>\n", "expected saved_states"},
    {"SavedToTheFinalState", "warp.save_state \"final_state\" %S as f32 : vector<16x32xf32>\n",
     "expected saved_states"},
    {"StateFromAnInput", "%0 = warp.load_state \"k\" : vector<16x32xf32>\n", "expected initial_state"},
    {"StateToTheInitialOne", "warp.store_state \"initial_state\" %S : vector<16x32xf32>\n", "expected final_state"},
    {"SavedOfOtherSize", "%0 = warp.load_saved \"saved_states\" : vector<16x16xbf16>\n", "expected 16 rows of 32 keys"},
    {"SavedAsStored", "%0 = warp.load_saved \"saved_states\" : vector<16x32xf32>\n",
     "moves f32; \"saved_states\" is of bf16"},
    {"SavedAsRounded", "warp.save_state \"saved_states\" %S as f16 : vector<16x32xf32>\n",
     "moves f16; \"saved_states\" is of bf16"},
    {"OutputAsStored", "warp.store_output \"o\" %square as f16 : vector<16x16xf32>\n", "moves f16; \"o\" is of bf16"},
    {"StagedAsStored", "%0 = warp.load_staged %staged : memref<32x32xbf16, 3> -> vector<16x32xf16>\n",
     "loads 'f16' of a state of 'bf16'"},
    {"CopySavedToABuffer", "warp.copy_saved \"saved_states\", %x ahead 1 : memref<16x32xf32, 3>\n",
     "needs a warp.staged state"},
    {"LoadOfAStagedState", "%0 = warp.load %staged : memref<32x32xbf16, 3> -> vector<32x32xbf16>\n",
     "can't take a staged state"},
    {"ColumnDotsTypes",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.column_dots %h, %x[%c] : memref<16x32xf16, 3>, memref<16x32xf32, 3> "
     "-> "
     "vector<1x16xf32>\n}\n",
     "operands must have one type"},
    {"ColumnDotsShape",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.column_dots %h, %h[%c] : memref<16x32xf16, 3>, memref<16x32xf16, 3> "
     "-> "
     "vector<1x32xf32>\n}\n",
     "where 1x16 is expected"},
    {"ColumnDotsOfRegistersAtAColumn",
     "warp.slabs 32 {\n^bb0(%c: index):\n%0 = warp.load %h[%c] transposed : memref<16x32xf16, 3> -> vector<16x16xf16>\n"
     "%1 = warp.column_dots %0, %0[%c] : vector<16x16xf16>, vector<16x16xf16> -> vector<1x16xf32>\n}\n",
     "takes shared operands at a column, or all of what registers hold"},
    {"ColumnDotsWithoutAColumn",
     "%0 = warp.column_dots %h, %h : memref<16x32xf16, 3>, memref<16x32xf16, 3> -> vector<1x16xf32>\n",
     "takes shared operands at a column, or all of what registers hold"},
    {"UnitTimesInfinity",
     "%0 = warp.own_scale %S times 1.0 : vector<16x32xf32>\n"
     "%1 = warp.times_unit %S, %0 factor 0x7F800000 : vector<16x32xf32>\n",
     "needs a finite number"},
    {"OutputOfKeysByRows", "warp.store_output \"number\" %square as f32 : vector<16x16xf32>\n",
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
    {"BufferInTheLoop", "%0 = warp.buffer offset 0 live 0 to 1 : memref<16x16xf32, 3>\n",
     "belongs at the top of the kernel"},
    {"LoopInTheLoop",
     "%0 = warp.loop %S : vector<16x32xf32> {\n^bb0(%Z: vector<16x32xf32>):\n  warp.yield %Z : vector<16x32xf32>\n}\n",
     "a loop over one group or round belongs inside a loop over those"},
};

INSTANTIATE_TEST_SUITE_P(Warp, LinesOfTheLoop, testing::ValuesIn(lines), name_of_case);

class LinesOfARound : public testing::TestWithParam<Case> {};

TEST_P(LinesOfARound, AreRefused) { expect_contains(error_of(with_teams(GetParam().lines)), GetParam().error); }

const Case lines_of_a_round[] = {
    {"EndLastOutsideARound", "warp.end_last\n", "belongs in a loop forward over a round"},
    {"EndLastOfAStateThatIsRead",
     "%0 = warp.loop %S over \"round\" : vector<16x32xf32> {\n^bb0(%Z: vector<16x32xf32>):\n  warp.end_last\n"
     "  warp.yield %Z : vector<16x32xf32>\n}\n%1 = warp.call \"neg\"(%0) : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "whose result nothing reads"},
    {"SlabsOfTheBlock", "warp.slabs 32 {\n^bb0(%c: index):\n}\n", "is a team's to do: it belongs in a warp.team"},
    {"CopyOfTheBlock", "warp.copy %k_ring ahead 2 : memref<16x32xbf16, 3>\n", "belongs in a warp.team"},
    {"ScaleOfASumWithout", "%0 = warp.round %S in_scale : vector<16x32xf32> -> vector<16x32xf16>\n",
     "takes its scale from sums that carry one, and from nothing else"},
    {"NoScaleOfASumWithOne",
     "%0 = warp.with_scale %S : vector<16x32xf32>\n"
     "%1 = warp.round %0 : vector<16x32xf32> -> vector<16x32xf16>\n",
     "takes its scale from sums that carry one, and from nothing else"},
    {"TwoScales", "%0 = warp.round %S own in_scale : vector<16x32xf32> -> vector<16x32xf16>\n",
     "has more than one of a scale given, one of its own and the one that x carries"},
    {"OperandWithoutAScale",
     "%0 = warp.with_scale %S : vector<16x32xf32>\n%1 = warp.round %S : vector<16x32xf32> -> vector<16x32xf16>\n"
     "warp.team {\n"
     "%2 = warp.mma %0, %1, %h in_scale : vector<16x32xf32>, vector<16x32xf16>, memref<32x32xf16, 3>\n}\n",
     "x rounded with a scale"},
    {"ScaleOfARow", "%0 = warp.zeros : vector<1x32xf32>\n%1 = warp.with_scale %0 : vector<1x32xf32>\n",
     "takes a tile, not"},
    {"BufferOfNoChunk", "%0 = warp.scale_for %k_max times 1.0 : memref<1xf32, 3>\n",
     "uses a slot's buffers outside a warp.team and the loop over a round"},
    {"StripsOfAThird", "warp.team {\nwarp.slabs 32 strips 48 {\n^bb0(%c: index):\n}\n}\n",
     "has strips of 48 columns; expected 32, 64 or 128"},
    {"StripsOfTooMany", "warp.team {\nwarp.slabs 32 strips 64 {\n^bb0(%c: index):\n}\n}\n",
     "has strips of 64 columns for 1 warps; expected 32 in all"},
    {"ContractionInStrips",
     "warp.team {\nwarp.slabs 32 strips 32 {\n^bb0(%c: index):\n%0 = warp.zeros : vector<16x16xf32>\n}\n}\n",
     "is nothing that tiles in strips are for"},
    {"ShiftInBlocks",
     "%0 = warp.zeros : vector<1x32xf32>\n%1 = warp.zeros : vector<16x32xf32>\n"
     "%2 = warp.call \"shift_rows\"(%1, %0) : (vector<16x32xf32>, vector<1x32xf32>) -> vector<16x32xf32>\n",
     "is of tiles in strips"},
    {"SlopeWithoutAScale",
     "%0 = warp.load_number %k_max : memref<1xf32, 3>\n"
     "%1 = warp.round %S slope %0 offset %0 : vector<16x32xf32> -> vector<16x32xf16>\n",
     "slope and offset, only in the scale that x carries"},
    {"AsItIsWithoutAScale", "%0 = warp.round %S as_is : vector<16x32xf32> -> vector<16x32xf16>\n",
     "takes its scale from sums that carry one, and from nothing else"},
    {"SameScaleAsNone",
     "%0 = warp.round %S own : vector<16x32xf32> -> vector<16x32xf16>\n%1 = warp.zeros : vector<16x16xf32>\n"
     "%2 = warp.mma %1, %0, %0 same_scale : vector<16x16xf32>, vector<16x32xf16>, vector<16x32xf16>\n",
     "in the same scale needs an accumulator that carries it"},
    {"NewScaleBesideOne",
     "%0 = warp.round %S own : vector<16x32xf32> -> vector<16x32xf16>\n%1 = warp.zeros : vector<16x16xf32>\n"
     "%2 = warp.with_scale %1 : vector<16x16xf32>\n"
     "%3 = warp.mma %2, %0, %0 new_scale : vector<16x16xf32>, vector<16x32xf16>, vector<16x32xf16>\n",
     "in a new one one that has none"},
    {"ScaleOfABufferWithout", "%0 = warp.scale_of %h : memref<32x32xf16, 3>\n", "takes a buffer with one scale"},
    {"ScaleBesideATileWithout",
     "%0 = warp.load_number %k_max : memref<1xf32, 3>\n"
     "%1 = warp.round %S : vector<16x32xf32> -> vector<16x32xf16>\n"
     "%2 = warp.round_beside %S, %1 over %0 : vector<16x32xf32>, vector<16x32xf16> -> vector<16x32xf16>\n",
     "takes a state that was rounded with a scale"},
    {"BesideOfWhatHasAScale",
     "%0 = warp.load_number %k_max : memref<1xf32, 3>\n"
     "%1 = warp.round %S own : vector<16x32xf32> -> vector<16x32xf16>\n"
     "%2 = warp.round_beside %1 scale %0, %1 over %0 : vector<16x32xf16>, vector<16x32xf16> -> vector<16x32xf16>\n",
     "or f16 that was loaded and the scale given"},
    {"BesideOfF16WithoutAScale",
     "%0 = warp.load_number %k_max : memref<1xf32, 3>\n"
     "%1 = warp.round %S own : vector<16x32xf32> -> vector<16x32xf16>\n"
     "%2 = warp.round %S : vector<16x32xf32> -> vector<16x32xf16>\n"
     "%3 = warp.round_beside %2, %1 over %0 : vector<16x32xf16>, vector<16x32xf16> -> vector<16x32xf16>\n",
     "f16 that carries a scale"},
    {"BesideOfF32InAScale",
     "%0 = warp.load_number %k_max : memref<1xf32, 3>\n"
     "%1 = warp.round %S own : vector<16x32xf32> -> vector<16x32xf16>\n"
     "%2 = warp.round_beside %S scale %0, %1 over %0 : vector<16x32xf32>, vector<16x32xf16> -> vector<16x32xf16>\n",
     "or f16 that was loaded and the scale given"},
    {"FitOfASumWithout",
     "%0 = warp.loop %S over \"round\" : vector<16x32xf32> {\n^bb0(%Z: vector<16x32xf32>):\n"
     "%1 = warp.load_number %k_max : memref<1xf32, 3>\n"
     "%2 = warp.fit_scale %Z, %k_max slope %1 offset %1 : vector<16x32xf32>, memref<1xf32, 3>\n"
     "warp.yield %Z : vector<16x32xf32>\n}\n",
     "takes a sum that carries a scale"},
    {"ScaleOfNoOperand", "warp.leave_scale %S to %k_max : vector<16x32xf32>, memref<1xf32, 3>\n",
     "takes an operand that was rounded with a scale"},
    {"ScaleLeftByATeam",
     "warp.team {\n%0 = warp.round %S own : vector<16x32xf32> -> vector<16x32xf16>\n"
     "warp.leave_scale %0 to %k_max : vector<16x32xf16>, memref<1xf32, 3>\n}\n",
     "is for the block's first warp to do"},
    {"NegativeBound", "%0 = warp.bound -1.0\n", "has a negative factor"},
    {"MaximumOfValueRows", "warp.team {\nwarp.publish_max %S, %k_max : vector<16x32xf32>, memref<1xf32, 3>\n}\n",
     "is for all warps of value rows"},
    {"CallOfASumWithAScale",
     "%0 = warp.with_scale %S : vector<16x32xf32>\n"
     "%1 = warp.call \"neg\"(%0) : (vector<16x32xf32>) -> vector<16x32xf32>\n",
     "takes no sum that carries a scale: take what warp.without_scale gives"},
    {"AccumulatorWithoutAScale",
     "%0 = warp.round %S own : vector<16x32xf32> -> vector<16x32xf16>\n%1 = warp.zeros : vector<16x16xf32>\n"
     "%2 = warp.mma %1, %0, %0 in_scale : vector<16x16xf32>, vector<16x32xf16>, vector<16x32xf16>\n",
     "in scale needs an accumulator that carries one"},
    {"LoopOfASumWithAScale",
     "%0 = warp.with_scale %S : vector<16x32xf32>\n"
     "%1 = warp.loop %0 over \"round\" : vector<16x32xf32> {\n^bb0(%Z: vector<16x32xf32>):\n"
     "warp.yield %S : vector<16x32xf32>\n}\n",
     "ends with a sum that carries a scale only if the loop began with one"},
    {"ShareOfNoColumns", "warp.team {\n%c = warp.share 8\n}\n", "has 8 columns; expected a multiple of 16"},
    {"ShareOfFewerColumns", "warp.team {\n%c = warp.share 16\n}\n",
     "of 16 columns for each of 1 warps makes 16; expected 32 keys"},
    {"ShareOfOthers", "%c = warp.share 32\n", "is a team's to do"},
    {"LoadOfAnotherShare",
     "warp.team {\n%c = warp.share 32\n%0 = warp.load %h[%c] : memref<32x32xf16, 3> -> vector<32x16xf16>\n}\n",
     "where 32x32 is expected"},
    {"ColumnsAsFirstOperand",
     "warp.team {\n%c = warp.share 32\n%0 = warp.load %h[%c] transposed : memref<32x32xf16, 3> -> vector<32x32xf16>\n"
     "%1 = warp.zeros : vector<32x32xf32>\n"
     "%2 = warp.mma %1, %0, %h : vector<32x32xf32>, vector<32x32xf16>, memref<32x32xf16, 3>\n}\n",
     "is for contractions to take as their second operand, and for nothing else"},
    {"ColumnDotsOfOthers",
     "warp.team {\n%0 = warp.load %h : memref<32x32xf16, 3> -> vector<32x32xf16>\n"
     "%1 = warp.column_dots %0, %0 : vector<32x32xf16>, vector<32x32xf16> -> vector<1x32xf32>\n}\n",
     "takes of what registers hold columns alone"},
    {"ColumnDotsBesideOtherRows",
     "warp.team {\n%c = warp.share 32\n%0 = warp.load %h[%c] transposed : memref<32x32xf16, 3> -> vector<32x32xf16>\n"
     "%1 = warp.zeros : vector<16x16xf32>\n%2 = warp.column_dots %0, %0 rows %1 : vector<32x32xf16>, "
     "vector<32x32xf16>, vector<16x16xf32> -> vector<1x32xf32>\n}\n",
     "adds the rows of a tile beside as many columns"},
    {"TeamInATeam", "warp.team {\nwarp.team {\nwarp.barrier\n}\n}\n",
     "belongs at the top of the kernel or in its loop over rounds"},
    {"TeamArguments", "warp.team {\n^bb0(%c: index):\nwarp.barrier\n}\n", "takes no arguments"},
    {"OnWarpOutside", "warp.team {\nwarp.on_warp 1 {\nwarp.note \"nothing\"\n}\n}\n", "warp 1 of a team of 1"},
    {"RingOfStages", "%0 = warp.ring \"k\" offset 4096 stages 2 by 0 : memref<16x32xbf16, 3>\n",
     "belongs at the top of the kernel"},
    {"RowOfAnotherChunk", "%0 = warp.load_vector %k_max of \"next\" : memref<1xf32, 3> -> vector<1x1xf32>\n",
     "is of the \"next\" chunk; expected \"first\" or \"last\""},
    {"PartsOfAChunk", "%0 = warp.load_vector %k_max parts 1 of \"first\" : memref<1xf32, 3> -> vector<1x1xf32>\n",
     "of a chunk of the round is a whole row"},
    {"ChunkOfATeam", "warp.team {\n%0 = warp.load_vector %k_max of \"last\" : memref<1xf32, 3> -> vector<1x1xf32>\n}\n",
     "of a chunk of the round belongs outside the loops over it, behind a barrier of all warps"},
    {"JoinedForward",
     "%0 = warp.loop %S over \"round\" : vector<16x32xf32> {\n^bb0(%Z: vector<16x32xf32>):\n"
     "%1 = warp.load_joined %k_max, %k_max : memref<1xf32, 3> -> vector<1x1xf32>\n"
     "warp.yield %Z : vector<16x32xf32>\n}\n",
     "belongs in a loop backward over a round"},
    {"JoinedByAllWarps", "warp.barrier\nwarp.team {\nwarp.join_rows %k_max, %k_max : memref<1xf32, 3>\n}\n",
     "is for one warp of a team in a round, between two barriers of all warps before the loops"},
    {"JoinedAfterTheStatesHaveCome",
     "warp.barrier\nwarp.team {\nwarp.on_warp 0 {\nwarp.join_rows %k_max, %k_max : memref<1xf32, 3>\n}\n}\n",
     "is for one warp of a team in a round, between two barriers of all warps before the loops"},
    {"JoinedWithItself",
     "warp.barrier\nwarp.team {\nwarp.on_warp 0 {\nwarp.join_rows %k_max, %k_max : memref<1xf32, 3>\n}\n}\n"
     "warp.barrier\n",
     "joins two rows of 32 keys"},
    {"ChunkBeforeAllAreThere",
     "warp.barrier\nwarp.team {\nwarp.note \"nothing\"\n}\n"
     "%0 = warp.load_vector %k_max of \"last\" : memref<1xf32, 3> -> vector<1x1xf32>\n",
     "of a chunk of the round belongs outside the loops over it, behind a barrier of all warps"},
    {"JoinedBeforeAllAreThere",
     "warp.team {\nwarp.on_warp 0 {\nwarp.join_rows %k_max, %k_max : memref<1xf32, 3>\n}\n}\n",
     "is for one warp of a team in a round, between two barriers of all warps before the loops"},
    {"LoopOverChunks",
     "%0 = warp.loop %S over \"group\" : vector<16x32xf32> {\n^bb0(%Z: vector<16x32xf32>):\n"
     "warp.yield %Z : vector<16x32xf32>\n}\n",
     "a loop over one group or round belongs inside a loop over those"},
    {"Backward",
     "%0 = warp.loop %S over \"rounds\" backward : vector<16x32xf32> {\n^bb0(%Z: vector<16x32xf32>):\n"
     "warp.yield %Z : vector<16x32xf32>\n}\n",
     "from the first in a forward kernel, from the last in a backward one"},
};

INSTANTIATE_TEST_SUITE_P(Warp, LinesOfARound, testing::ValuesIn(lines_of_a_round), name_of_case);

TEST(Again, GoesThroughARound) {
  expect_contains(error_of(again("      warp.yield %kept : vector<16x32xbf16>\n")),
                  "needs a warp.team and one loop over the round, forward");
  std::string elsewhere = again(loop_again() + yield_again());
  elsewhere.replace(elsewhere.find("ahead 0 next"), 12, "ahead 0");
  expect_contains(error_of(elsewhere), "is `next` in the loop over them, and nowhere else");
  std::string forward = with_teams(
      "%kept = warp.load_saved \"saved_states\" : vector<16x32xbf16>\n%again = warp.again %kept : vector<16x32xbf16> "
      "{\n"
      "warp.team {\nwarp.note \"nothing\"\n}\n%first = warp.loop %S over \"round\" : vector<16x32xf32> {\n"
      "^bb0(%Z: vector<16x32xf32>):\nwarp.yield %Z : vector<16x32xf32>\n}\nwarp.yield %kept : vector<16x32xbf16>\n}\n");
  expect_contains(error_of(scheduled(forward, "checkpoint(every = 4)")),
                  "belongs in the loop over rounds of a backward kernel");
  std::string given = again(loop_again() + yield_again());
  given.replace(given.find("warp.again %kept"), 16, "warp.again %none")
      .insert(given.find("    %again"), "    %none = warp.round %S : vector<16x32xf32> -> vector<16x32xbf16>\n");
  expect_contains(error_of(given), "begins with what a warp.load_saved gives");
  expect_contains(error_of(again(loop_again() + "      warp.yield %first : vector<16x32xf32>\n")),
                  "ends with a warp.yield of 'vector<16x32xbf16>'");
  std::string every = again(loop_again() + yield_again());
  every.replace(every.find("every = 4"), 9, "every = 2");
  expect_contains(error_of(every), "is of the first chunk of 2 rounds of 2; a state is saved every 2");
}

TEST(Teams, DivideTheWarps) {
  expect_contains(error_of(with_teams("", "3")), "has 3 teams; expected a number that divides its 2 warps");
  expect_contains(error_of(with_teams("", "0")), "a schedule's prepare has no such teams; expected 1 to 15");
  expect_contains(error_of(with_teams("", "16")), "expected 1 to 15");
  std::string uneven = with_teams("");
  uneven.replace(uneven.find("shared 20512"), 12, "shared 20528");
  expect_contains(error_of(uneven), "has 20528 bytes of shared memory for 2 teams; expected a multiple of 16 for each");
  expect_contains(error_of(with_teams("", "1")), "belongs in a kernel of several teams");
}

TEST(Teams, HaveNothingElseWhereRingsGoOverTheEndOfARound) {
  const auto error = [](const std::string& ring, const std::string& buffer) {
    std::string text = with_teams("");
    text.insert(text.find(" : memref<16x32xbf16, 3>"), " live " + ring);
    text.replace(text.find("live 0 to 1 : memref<32x32xf16, 3>"), 11, "live " + buffer);
    text.replace(text.find("offset 2704"), 11, "offset 0");
    return error_of(text);
  };
  expect_contains(error("2 to 0", "0 to 1"), "of another buffer that is in use in the same phase");
  expect_contains(error("2 to 0", "1 to 3"), "of another buffer that is in use in the same phase");
}

TEST(JoinedRows, AreJoinedOnce) {
  const std::string load = "      %row = warp.load_joined %last, %first : memref<32xf32, 3> -> vector<1x32xf32>\n";
  const std::string join =
      "    warp.barrier\n    warp.team {\n      warp.on_warp 0 {\n"
      "        warp.join_rows %last, %first : memref<32xf32, 3>\n      }\n    }\n    warp.barrier\n";
  const auto error = [&](const std::string& joins) {
    std::string text = two_states("", "", load);
    text.insert(text.find("    %saved = warp.loop"), joins);
    text.insert(text.find("  %initial"),
                "  %first = warp.floats offset 4880 live 0 to 1 : memref<32xf32, 3>\n"
                "  %last = warp.floats offset 5008 live 0 to 1 : memref<32xf32, 3>\n");
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
  const std::string expected = "needs a loop right before it through the same round";
  expect_contains(error("      warp.barrier\n", ""), expected);
  expect_contains(error("", "    warp.note \"between\"\n"), expected);
  const std::string stores =
      "      %x = warp.zeros : vector<1x1xf32>\n"
      "      warp.store_vector %x, %k_max : vector<1x1xf32>, memref<1xf32, 3>\n";
  const std::string loads = "      %number = warp.load_number %k_max : memref<1xf32, 3>\n";
  expect_contains(error_of(two_states(stores, "", loads)), expected);
  expect_contains(error_of(two_states(loads, "", stores)), expected);
  expect_contains(error("", "", "warp.loop %S over \"round\" backward", "warp.loop %saved over \"round\" backward"),
                  expected);
  expect_contains(error("", "", "over \"round\" backward beside", "over \"round\" beside"), expected);
}

class LinesBeforeRounds : public testing::TestWithParam<Case> {};

TEST_P(LinesBeforeRounds, AreRefused) { expect_contains(error_of(with_rounds(GetParam().lines)), GetParam().error); }

const Case lines_before_rounds[] = {
    {"NothingPrepared", "", "of 2 rounds needs exactly one warp.prepare"},
    {"NoTeam", "warp.prepare {\n}\n", "needs exactly one warp.team"},
    {"TwoTeams", "warp.prepare {\n  warp.team {\n    warp.claim\n    warp.publish\n  }\n  warp.team {\n  }\n}\n",
     "needs exactly one warp.team"},
    {"NoClaim", "warp.prepare {\n  warp.team {\n    warp.note \"nothing\"\n    warp.publish\n  }\n}\n",
     "is where warp.claim belongs: where a team begins its part of warp.prepare"},
    {"NoPublish", "warp.prepare {\n  warp.team {\n    warp.claim\n    warp.barrier\n  }\n}\n",
     "is where warp.publish belongs: where a team ends its part of warp.prepare"},
    {"PublishedTwice", prepared("      warp.publish\n"), "belongs where a team ends its part of warp.prepare"},
    {"AwaitOfATeam", prepared("      warp.await\n"), "belongs where a loop over a round begins"},
    {"ReleaseOfATeam", prepared("      warp.release\n"), "belongs where a loop over a round ends"},
    {"BarrierOfTheBlock", prepared() + "warp.barrier\n", "would wait for warps that do not come here"},
    {"NothingOfATeam",
     "warp.prepare {\n  warp.wait_copies 0\n  warp.team {\n    warp.claim\n    warp.publish\n  }\n}\n",
     "is for others than teams to do"},
    {"TeamsThatHaveEnded", prepared() + "warp.team {\n}\n", "belongs before warp.prepare"},
    {"StatesOfTeams", "%0 = warp.load_state \"initial_state\" : vector<16x32xf32>\n" + prepared(),
     "belongs after warp.prepare"},
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
  expect_contains(error("schedule<grid(blocks = 33)>"), "no such blocks; expected 0 to 32");
  expect_contains(error("schedule<grid(blocks = 1), memory(keep = all)>"),
                  "no such keep; expected automatic or contractions or factors");
  expect_contains(error("schedule"), "holds 1 to 32 blocks, not 0");
}

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
  expect_contains(of("backward, of_team = 2048 : i64", "warps 4"), "--rounds 2 and --cluster are of forward kernels");
  std::string late = with_rounds(prepare);
  late.insert(late.find("    %round = "), "    warp.team {\n    }\n");
  expect_contains(error_of(late), "has ended: its part is in warp.prepare");
  std::string of_all = with_rounds(prepare);
  of_all.insert(of_all.find("      warp.release"),
                "      warp.publish_max %S_chunk, %S_max : vector<16x32xf32>, memref<2xf32, 3>\n");
  of_all.insert(of_all.find("warp.prepare"), "  %S_max = warp.floats offset 8192 live 0 to 3 : memref<2xf32, 3>\n");
  expect_contains(error_of(of_all), "is of all warps, which do not meet");
  std::string alone = with_rounds(prepare);
  alone.replace(alone.find("teams = 2"), 9, "teams = 1");
  expect_contains(error_of(alone), "has 4 warps; expected 2 for rows and 1 of teams, as its schedule says");
  std::string one = with_rounds(prepare, "");
  one.replace(one.find(", warps = 1"), 11, "").replace(one.find("warps 4"), 7, "warps 2");
  expect_contains(error_of(one), "belongs in a kernel of 2 rounds");
  std::string of_team = with_teams("");
  of_team.replace(of_team.find("] {"), 3, "] attributes {of_team = 16 : i64} {");
  expect_contains(error_of(of_team), "gives 16 bytes to a team for all rounds; expected 0");
}

TEST(Rounds, AreHandedOverChunkByChunk) {
  const auto without = [](const std::string& line, const std::string& instead) {
    std::string text = with_rounds(prepared());
    return error_of(text.replace(text.find(line), line.size(), instead));
  };
  expect_contains(without("      warp.await\n", ""), "is where warp.await belongs: where a loop over a round begins");
  expect_contains(without("      warp.release\n", ""), "is where warp.release belongs: where a loop over a round ends");
  expect_contains(without("      warp.release\n", "      warp.release\n      warp.note \"late\"\n"),
                  "belongs where a loop over a round ends");
  std::string twice = with_rounds(prepared());
  const std::size_t loop = twice.find("    %round = "), end = twice.find("    warp.yield %round");
  twice.insert(loop, "    %before" + twice.substr(loop + 10, end - loop - 10));
  expect_contains(error_of(twice), "needs exactly one loop over a round in it");
  const std::string text = with_rounds(prepared());
  const std::size_t round = text.find("    %round = "), after = text.find("    warp.yield %round");
  std::string none = text.substr(0, round) + text.substr(after);
  none.replace(none.find("yield %round"), 12, "yield %S");
  expect_contains(error_of(none), "needs exactly one loop over a round in it");
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
  expect_contains(of("3", "warps 3"), "--cluster 3: expected 1, 2, 4 or 8");
  expect_contains(of("4", "warps 3"), "has 32 rows for 4 blocks; expected 16 for each warp");
  expect_contains(of("2", "warps 1"), "has 1 warps; expected 1 for rows and 2 of teams");
  expect_contains(error_of(scheduled(with_teams(""), "grid(cluster = 2)")),
                  "--cluster 2: blocks share what teams prepare a round ahead");
}

// A kernel with a guard: these lines at its beginning and before it leaves its state.
std::string guarded(const std::string& attribute, const std::string& begin, const std::string& end,
                    const std::string& refused = "workspace forward_refused f32 B,H,1,1") {
  std::string text = header() + begin + buffers() + loop() + ending();
  text.replace(text.find("]"), 1, ", \"" + refused + "\"] attributes {" + attribute + "}");
  return text.insert(text.find("  warp.store_state"), end);
}

TEST(Guards, StandWhereBlocksBeginAndEnd) {
  const std::string expect = "  warp.expect \"forward_refused\" [\"k\"] gradients []\n";
  const std::string refuse = "  warp.refuse \"forward_refused\" %final : vector<16x32xf32>\n";
  const std::string only = "  warp.only_refused \"forward_refused\"\n";
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  EXPECT_NO_THROW(parse(guarded("plain", expect, refuse), context));
  EXPECT_NO_THROW(parse(guarded("refused", only, ""), context));
  const auto error = [&](const auto&... parts) { return error_of(guarded(parts...)); };
  expect_contains(error("plain", "", refuse), "is where warp.expect belongs: where a plain kernel begins");
  expect_contains(error("plain", expect, ""), "is where warp.refuse belongs: where a plain kernel leaves its state");
  expect_contains(error("refused", "", ""), "is where warp.only_refused belongs: where a refused kernel begins");
  expect_contains(error("refused", expect, ""), "warp.expect");
  expect_contains(error("plain", expect + only, refuse), "belongs where a refused kernel begins");
  expect_contains(error("plain", expect, refuse + "  warp.note \"late\"\n"), "belongs where a plain kernel leaves");
  expect_contains(error("plain, refused", expect, refuse), "is plain, and for what a plain one refuses");
  expect_contains(error("plain", expect, refuse, "workspace forward_refused f32 B,H,4,1"), "expected B,H,1,1");
  expect_contains(error("plain", expect, refuse, "workspace refusals f32 B,H,1,1"),
                  "is not among the kernel's tensors");
  expect_contains(error("plain", "  warp.expect \"forward_refused\" [\"u\"] gradients []\n", refuse),
                  "is of the role parameter; expected input");
  expect_contains(error("plain", "  warp.expect \"forward_refused\" [] gradients [\"k\"]\n", refuse),
                  "is of the role input; expected output_gradient");
  expect_contains(error("plain", "  %unit = warp.expect \"forward_refused\" [\"k\"] gradients [] : f32\n", refuse),
                  "gives a unit of the gradients that it has");
}

TEST(Guards, MayStopLoopsOfPlainKernels) {
  const std::string expect = "  warp.expect \"forward_refused\" [\"k\"] gradients []\n";
  const std::string refuse = "  warp.refuse \"forward_refused\" %final : vector<16x32xf32>\n";
  const auto stopping = [&](std::string text, const std::string& before) {
    return text.insert(text.find(before), "    warp.barrier refuses\n");
  };
  const std::string plain = guarded("plain", expect, refuse);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  EXPECT_EQ(print(&parse(stopping(plain, "    warp.yield"), context)->getBody()->front()),
            stopping(plain, "    warp.yield"));
  expect_contains(error_of(stopping(plain, "  warp.refuse")), "belongs in a loop of a plain kernel");
  expect_contains(
      error_of(stopping(guarded("refused", "  warp.only_refused \"forward_refused\"\n", ""), "    warp.yield")),
      "belongs in a loop of a plain kernel");
  for (const char* waits : {"warp.claim", "warp.await"}) {
    std::string rounds = with_rounds(prepared());
    rounds.insert(rounds.find(waits) + std::string(waits).size(), " refuses");
    expect_contains(error_of(rounds), "refuses: it belongs in a plain kernel");
  }
}

TEST(DecayingStates, AreMultipliedOrSettled) {
  const std::string state = "    %later = warp.decaying %S : vector<16x32xf32>\n";
  const auto error = [&](const std::string& own) { return error_of(with(own)); };
  expect_contains(error("    %0 = warp.settled %S : vector<16x32xf32>\n"), "takes a state that is still to decay");
  expect_contains(error(state + "    %0 = warp.call \"neg\"(%later) : (vector<16x32xf32>) -> vector<16x32xf32>\n"),
                  "takes no state that is still to decay: take what warp.settled gives");
  expect_contains(error(state + "    %0 = warp.call \"mul\"(%later, %t) : (vector<16x32xf32>, vector<16x32xf32>) -> "
                                "vector<16x32xf32>\n"),
                  "takes no state that is still to decay");
  expect_contains(error(state + "    %0 = warp.decaying %later : vector<16x32xf32>\n"), "takes no state that is still");
  expect_contains(error("    %0 = warp.decaying %S, %t : vector<16x32xf32>, vector<16x32xf32>\n"),
                  "where 1x32 is expected");
  std::string yields = with(state);
  yields.replace(yields.find("warp.yield %S"), 13, "warp.yield %later");
  expect_contains(error_of(yields), "ends with a state that is still to decay only if the loop began with one");
}

class Buffers : public testing::TestWithParam<Case> {};

TEST_P(Buffers, AreRefused) { expect_contains(error_of(with_buffers(GetParam().lines)), GetParam().error); }

const Case declarations[] = {
    {"Outside", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<16x32xf32, 3>\n", "bytes 7840 to 10400 of 10256"},
    {"Unaligned", "%0 = warp.buffer offset 7848 live 4 to 4 : memref<16x16xf16, 3>\n", "offsets are multiples of 16"},
    {"Negative", "%0 = warp.buffer offset -16 live 4 to 4 : memref<16x16xf16, 3>\n", "the offset is -16"},
    {"Huge", "%0 = warp.buffer offset 9223372036854775792 live 4 to 4 : memref<16x16xf16, 3>\n",
     "expected 0 to 232448"},
    {"ScaleOutside", "%0 = warp.buffer offset 2704 scale 10256 live 4 to 4 : memref<16x16xf16, 3>\n",
     "bytes 10256 to 10260 of 10256"},
    {"ScaleNegative", "%0 = warp.buffer offset 2704 scale -16 live 4 to 4 : memref<16x16xf16, 3>\n",
     "the scale's offset is -16"},
    {"ScaleOfF32", "%0 = warp.buffer offset 2704 scale 7840 live 4 to 4 : memref<16x16xf32, 3>\n",
     "only f16 operands carry a scale"},
    {"SlabsOfNothing", "%0 = warp.buffer offset 2704 scale 7840 slabs \"tiles\" live 4 to 4 : memref<16x16xf16, 3>\n",
     "has slabs of \"tiles\"; expected rows or columns"},
    {"SlabsWithoutScales", "%0 = warp.buffer offset 2704 slabs \"rows\" live 4 to 4 : memref<16x16xf16, 3>\n",
     "has slabs but no scales"},
    {"SlabScalesOverlapping",
     "%0 = warp.buffer offset 2704 scale 10240 slabs \"rows\" live 4 to 4 : memref<96x16xf16, 3>\n",
     "bytes 10240 to 10264 of 10256"},
    {"Overlapping", "%0 = warp.buffer offset 2704 live 1 to 4 : memref<16x16xf16, 3>\n", "overlap bytes 2704 to 5264"},
    {"OverlappingARing", "%0 = warp.buffer offset 2544 live 9 to 9 : memref<16x16xf16, 3>\n",
     "overlap bytes 0 to 2560"},
    {"ScaleOverlapping", "%0 = warp.buffer offset 7840 scale 6544 live 0 to 0 : memref<16x16xf16, 3>\n", "bytes"},
    {"Lifetime", "%0 = warp.buffer offset 7840 live 2 to 1 : memref<16x16xf16, 3>\n",
     "the last phase is 1; expected 2"},
    {"LifetimeNegative", "%0 = warp.floats offset 7840 live -1 to 1 : memref<16xf32, 3>\n", "the first phase is -1"},
    {"Space", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<16x16xf16>\n", "in memory space 3"},
    {"Layout", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<16x16xf16, strided<[1, 16]>, 3>\n",
     "shared tiles are contiguous"},
    {"Dynamic", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<?x16xf16, 3>\n", "their sizes multiples of 16"},
    {"Size", "%0 = warp.buffer offset 7840 live 4 to 4 : memref<16x8xf16, 3>\n", "their sizes multiples of 16"},
    {"HugeSize", "%0 = warp.buffer offset 0 live 4 to 4 : memref<4294967296x4294967296xf16, 3>\n",
     "their sizes multiples of 16 up to 256"},
    {"FloatsHuge", "%0 = warp.floats offset 0 live 4 to 4 : memref<4611686018427387904xf32, 3>\n", "up to 256"},
    {"FloatsDtype", "%0 = warp.floats offset 7840 live 4 to 4 : memref<16xf16, 3>\n", "memref of 32-bit float"},
    {"RingOfAParameter", "%0 = warp.ring \"u\" offset 7840 stages 1 by 0 : memref<16x16xbf16, 3>\n", "expected input"},
    {"RingOfAMatrix", "%0 = warp.ring \"M\" offset 7840 stages 1 by 0 : memref<16x32xf32, 3>\n",
     "a matrix of 16x32; expected 16x16"},
    {"RingOfNoWarp", "%0 = warp.ring \"k\" offset 7840 stages 1 by 2 : memref<16x32xbf16, 3>\n",
     "is copied by warp 2 of a block of 2"},
    {"RingWithoutStages", "%0 = warp.ring \"k\" offset 7840 stages 0 by 0 : memref<16x16xbf16, 3>\n",
     "the number of stages is 0"},
    {"RingOfManyStages", "%0 = warp.ring \"k\" offset 0 stages 4611686018427387904 by 0 : memref<16x16xbf16, 3>\n",
     "expected 1 to 16"},
    {"CurrentBeforeTheLoop", "%0 = warp.current %k_ring : memref<16x32xbf16, 3>\n", "needs a loop around it"},
    {"KernelInAKernel",
     "warp.kernel \"inner\" for \"inner\" warps 1 schedule #wkvc.schedule<grid(blocks = 1)> chunk 16 head 16 x 16 "
     "shared 0 compute \"f16\" "
     "arch \"sm_90a\" tensors [] {\n  warp.note \"nothing\"\n}\n",
     "needs exactly one warp.loop"},
    {"SumInAKernel",
     "warp.batch_sum \"inner\" for \"inner\" chunk 16 head 16 x 16 compute \"f16\" arch \"sm_90a\" from \"du_parts\" "
     "to "
     "\"du\" over \"K\" as bf16\n",
     "can't be inside a warp.kernel"},
};

INSTANTIATE_TEST_SUITE_P(Warp, Buffers, testing::ValuesIn(declarations), name_of_case);

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
  expect_contains(error("\"f16\"", "\"f8\\0A#error\""), "expected bf16, f16 or f32");
  for (const char* arch : {"\"\"", "\"sm_\"", "\"sm_90\\0A\"", "\"hopper\"", "\"sm_123456\""})
    expect_contains(error("\"sm_90a\"", arch), "expected for example sm_90a");
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

TEST(Kernels, HaveOneLoopThatCarriesTheState) {
  expect_contains(error_of(header() + buffers() + "}\n"), "needs exactly one warp.loop");
  auto error = [](const std::string& from, const std::string& to) {
    std::string text = header() + buffers() + loop() + ending();
    return error_of(text.replace(text.find(from), from.size(), to));
  };
  expect_contains(error("^bb0(%S: vector<16x32xf32>)", "^bb0(%S: vector<16x32xf32>, %T: vector<16x32xf32>)"),
                  "carries its state in one argument");
  expect_contains(error("warp.yield %S : vector<16x32xf32>", "warp.yield %square : vector<16x16xf32>"),
                  "ends with a warp.yield of 'vector<16x32xf32>'");
  expect_contains(error("    warp.yield %S : vector<16x32xf32>\n", ""), "terminator");
  expect_contains(error("  %k_ring", "^bb0(%z: index):\n  %k_ring"), "takes no arguments");
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
                  "a schedule's grid has no such segments; expected 1 to 256");
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
  expect_contains(error_of(with("%0 = warp.start_summary : vector<16x32xf32>\n")), "belongs in a summary kernel");
}

TEST(Combinations, AreOfSeveralSegments) {
  auto combine = [](const char* segments, const char* map, const char* initial = "initial_state") {
    return std::string(
               "warp.combine \"example_combine\" for \"example\" chunk 16 head 32 x 48 compute \"f16\" arch "
               "\"sm_90a\" from \"") +
           initial + "\" in \"segment_states\" segments " + segments + " map \"" + map + "\"\n";
  };
  expect_contains(error_of(combine("1", "full")), "combines 1 segments; expected 2 to 256");
  expect_contains(error_of(combine("4", "round")), "has a \"round\" map; expected full or diagonal");
  expect_contains(error_of(combine("4", "full", "a b")), "is not an identifier");
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
