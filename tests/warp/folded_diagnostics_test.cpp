// Messages of the warp dialect about matrices in two terms that take the memory of one.
#include "tests/warp/cases.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

std::string with_matrix(const std::string& lines) {
  const std::string buffer =
      "  %M = warp.buffer offset 7840 live 0 to 1 : !warp.tile<16x16x!wkvc.lower_f16x2, shared>\n";
  const std::string rounded =
      "%m = warp.round %square : !warp.tile<16x16xf32, fragments> -> !warp.tile<16x16x!wkvc.lower_f16x2, fragments>\n";
  return header() + buffers() + buffer + loop() + rounded + lines + ending();
}

class Folded : public testing::TestWithParam<Case> {};

TEST_P(Folded, AreRefused) { expect_contains(error_of(with_matrix(GetParam().lines)), GetParam().error); }

const Case cases[] = {
    {"RoundOfKeys",
     "%0 = warp.round %t : !warp.tile<16x32xf32, fragments> -> !warp.tile<16x32x!wkvc.lower_f16x2, fragments>\n",
     "expected a square matrix"},
    {"LoadTransposed",
     "%0 = warp.load %M transposed : !warp.tile<16x16x!wkvc.lower_f16x2, shared> -> "
     "!warp.tile<16x16x!wkvc.lower_f16x2, fragments>\n",
     "whose terms lie on both sides of its diagonal"},
    {"LoadOwn",
     "%0 = warp.load %M own : !warp.tile<16x16x!wkvc.lower_f16x2, shared> -> "
     "!warp.tile<16x16x!wkvc.lower_f16x2, fragments>\n",
     "takes a part of"},
    {"LoadAsF16",
     "%0 = warp.load %M : !warp.tile<16x16x!wkvc.lower_f16x2, shared> -> !warp.tile<16x16xf16, fragments>\n",
     "makes '!warp.tile<16x16xf16, fragments>' of"},
    {"StoreOwnColumns",
     "warp.store %m, %M own_columns : !warp.tile<16x16x!wkvc.lower_f16x2, fragments>, "
     "!warp.tile<16x16x!wkvc.lower_f16x2, shared>\n",
     "takes a part of"},
    {"Transpose",
     "%0 = warp.transpose %m : !warp.tile<16x16x!wkvc.lower_f16x2, fragments> -> "
     "!warp.tile<16x16x!wkvc.lower_f16x2, fragments>\n",
     "whose low terms would lie where high ones are read"},
    {"MatrixAsF16", "warp.store_matrix \"M\" %m as f16 : !warp.tile<16x16x!wkvc.lower_f16x2, fragments>\n",
     "stores '!warp.tile<16x16x!wkvc.lower_f16x2, fragments>' as f16"},
    {"MatrixOfF32", "warp.store_matrix \"M\" %square as !wkvc.lower_f16x2 : !warp.tile<16x16xf32, fragments>\n",
     "stores '!warp.tile<16x16xf32, fragments>' as lower_f16x2"},
    {"MatrixInF32",
     "warp.store_matrix \"M\" %m as !wkvc.lower_f16x2 : !warp.tile<16x16x!wkvc.lower_f16x2, fragments>\n",
     "moves f16; \"M\" is of f32"},
    {"MmaWithBf16",
     "%b = warp.round %square : !warp.tile<16x16xf32, fragments> -> !warp.tile<16x16xbf16, fragments>\n"
     "%0 = warp.mma %square, %b, %M : !warp.tile<16x16xf32, fragments>, !warp.tile<16x16xbf16, fragments>, "
     "!warp.tile<16x16x!wkvc.lower_f16x2, shared>\n",
     "operands must have one dtype"},
    {"MmaByGroups",
     "%z = warp.zeros : !warp.tile<16x16xf32, fragments>\n"
     "%h16 = warp.round %square : !warp.tile<16x16xf32, fragments> -> !warp.tile<16x16xf16, fragments>\n"
     "%0 = warp.mma %z, %h16, %M family wgmma_registers : !warp.tile<16x16xf32, fragments>, "
     "!warp.tile<16x16xf16, fragments>, "
     "!warp.tile<16x16x!wkvc.lower_f16x2, shared>\n",
     "'wgmma.registers' takes y as matrices, not shared"},
    {"SumsOfTerms",
     "%0 = warp.call \"add\"(%m, %square) : (!warp.tile<16x16x!wkvc.lower_f16x2, fragments>, "
     "!warp.tile<16x16xf32, fragments>) -> "
     "!warp.tile<16x16xf32, fragments>\n",
     "takes tiles of f32"},
};

INSTANTIATE_TEST_SUITE_P(Warp, Folded, testing::ValuesIn(cases), name_of_case);

TEST(FoldedBuffers, AreSquareAndHaveNoSlabs) {
  expect_contains(error_of(with_buffers(
                      "%0 = warp.buffer offset 7840 live 4 to 4 : !warp.tile<16x32x!wkvc.lower_f16x2, shared>\n")),
                  "expected a square matrix");
  expect_contains(error_of(with_buffers("%0 = warp.buffer offset 7840 scale 8352 slabs rows live 4 to 4 : "
                                        "!warp.tile<16x16x!wkvc.lower_f16x2, shared>\n")),
                  "takes a part of");
  expect_contains(error_of(with_buffers("%0 = warp.ring \"k\" offset 7840 stages 1 by 0 : "
                                        "!warp.tile<16x32x!wkvc.lower_f16x2, shared>\n")),
                  "expected a square matrix");
}

}  // namespace
}  // namespace wkvc::test
