// Messages of the warp dialect about matrices in two terms that take the memory of one.
#include "tests/warp/cases.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

std::string with_matrix(const std::string& lines) {
  const std::string buffer = "  %M = warp.buffer offset 7840 live 0 to 1 : memref<16x16x!wkvc.lower_f16x2, 3>\n";
  const std::string rounded = "%m = warp.round %square : vector<16x16xf32> -> vector<16x16x!wkvc.lower_f16x2>\n";
  return header() + buffers() + buffer + loop() + rounded + lines + ending();
}

class Folded : public testing::TestWithParam<Case> {};

TEST_P(Folded, AreRefused) { expect_contains(error_of(with_matrix(GetParam().lines)), GetParam().error); }

const Case cases[] = {
    {"RoundOfKeys", "%0 = warp.round %t : vector<16x32xf32> -> vector<16x32x!wkvc.lower_f16x2>\n",
     "expected a square matrix"},
    {"LoadTransposed",
     "%0 = warp.load %M transposed : memref<16x16x!wkvc.lower_f16x2, 3> -> vector<16x16x!wkvc.lower_f16x2>\n",
     "whose terms lie on both sides of its diagonal"},
    {"LoadOwn", "%0 = warp.load %M own : memref<16x16x!wkvc.lower_f16x2, 3> -> vector<16x16x!wkvc.lower_f16x2>\n",
     "takes a part of"},
    {"LoadAsF16", "%0 = warp.load %M : memref<16x16x!wkvc.lower_f16x2, 3> -> vector<16x16xf16>\n",
     "makes 'vector<16x16xf16>' of"},
    {"StoreOwnColumns",
     "warp.store %m, %M own_columns : vector<16x16x!wkvc.lower_f16x2>, memref<16x16x!wkvc.lower_f16x2, 3>\n",
     "takes a part of"},
    {"Transpose", "%0 = warp.transpose %m : vector<16x16x!wkvc.lower_f16x2> -> vector<16x16x!wkvc.lower_f16x2>\n",
     "whose low terms would lie where high ones are read"},
    {"MatrixAsF16", "warp.store_matrix \"M\" %m as f16 : vector<16x16x!wkvc.lower_f16x2>\n",
     "stores 'vector<16x16x!wkvc.lower_f16x2>' as f16"},
    {"MatrixOfF32", "warp.store_matrix \"M\" %square as !wkvc.lower_f16x2 : vector<16x16xf32>\n",
     "stores 'vector<16x16xf32>' as lower_f16x2"},
    {"MatrixInF32", "warp.store_matrix \"M\" %m as !wkvc.lower_f16x2 : vector<16x16x!wkvc.lower_f16x2>\n",
     "moves f16; \"M\" is of f32"},
    {"MmaWithBf16",
     "%b = warp.round %square : vector<16x16xf32> -> vector<16x16xbf16>\n"
     "%0 = warp.mma %square, %b, %M : vector<16x16xf32>, vector<16x16xbf16>, memref<16x16x!wkvc.lower_f16x2, 3>\n",
     "operands must have one dtype"},
    {"MmaByGroups",
     "%z = warp.zeros : vector<16x16xf32>\n"
     "%h16 = warp.round %square : vector<16x16xf32> -> vector<16x16xf16>\n"
     "%0 = warp.mma %z, %h16, %M family wgmma_registers : vector<16x16xf32>, vector<16x16xf16>, "
     "memref<16x16x!wkvc.lower_f16x2, "
     "3>\n",
     "of operands of 16 bits, not"},
    {"SumsOfTerms",
     "%0 = warp.call \"add\"(%m, %square) : (vector<16x16x!wkvc.lower_f16x2>, vector<16x16xf32>) -> "
     "vector<16x16xf32>\n",
     "takes tiles of f32"},
};

INSTANTIATE_TEST_SUITE_P(Warp, Folded, testing::ValuesIn(cases), name_of_case);

TEST(FoldedBuffers, AreSquareAndHaveNoSlabs) {
  expect_contains(
      error_of(with_buffers("%0 = warp.buffer offset 7840 live 4 to 4 : memref<16x32x!wkvc.lower_f16x2, 3>\n")),
      "expected a square matrix");
  expect_contains(error_of(with_buffers("%0 = warp.buffer offset 7840 scale 8352 slabs rows live 4 to 4 : "
                                        "memref<16x16x!wkvc.lower_f16x2, 3>\n")),
                  "takes a part of");
  expect_contains(error_of(with_buffers("%0 = warp.ring \"k\" offset 7840 stages 1 by 0 : "
                                        "memref<16x32x!wkvc.lower_f16x2, 3>\n")),
                  "expected a square matrix");
}

}  // namespace
}  // namespace wkvc::test
