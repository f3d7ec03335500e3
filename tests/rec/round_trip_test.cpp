// Every operation prints as it was written.
#include <gtest/gtest.h>

#include "codegen/rec/Rec.h"
#include "tests/rec/rec_text.h"

namespace wkvc::test {
namespace {

std::string reprinted(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  return rec::print(*rec::parse(text, "test.mlir", context));
}

TEST(RoundTrip, EveryOperation) {
  const std::string text = with(R"(  %u = rec.parameter "u" dim K in [-2.0, 0.5] : tensor<64xbf16>
  %c = rec.constant 5.000000e-01 dim K : tensor<64xf32>
  %k_f32 = rec.cast %k : tensor<64xbf16> to tensor<64xf32>
  %neg = rec.neg %x : tensor<64xf32>
  %exp = rec.exp %x : tensor<64xf32>
  %log = rec.log %x : tensor<64xf32>
  %sigmoid = rec.sigmoid %x : tensor<64xf32>
  %tanh = rec.tanh %x : tensor<64xf32>
  %softplus = rec.softplus %x : tensor<64xf32>
  %relu = rec.relu %x : tensor<64xf32>
  %sqrt = rec.sqrt %x : tensor<64xf32>
  %reciprocal = rec.reciprocal %g : tensor<1xf32>
  %sum = rec.add %x, %c : tensor<64xf32>
  %difference = rec.sub %x, %c : tensor<64xf32>
  %product = rec.mul %x, %c : tensor<64xf32>
  %scaled = rec.scale %g, %S : tensor<32x64xf32>
  %0 = rec.scale %g, %x : tensor<64xf32>
  %1 = rec.broadcast %g dim V : tensor<32xf32>
  %2 = rec.diag_mul %S, %x : tensor<32x64xf32>, tensor<64xf32>
  %3 = rec.dot %S, %k : tensor<32x64xf32>, tensor<64xbf16> -> tensor<32xf32>
  %4 = rec.dot %k, %x compute "f16" : tensor<64xbf16>, tensor<64xf32> -> tensor<1xf32>
  %5 = rec.outer %v, %k : tensor<32xbf16>, tensor<64xbf16> -> tensor<32x64xf32>
  %6 = rec.outer %y, %k compute "bf16" : tensor<32xf32>, tensor<64xbf16> -> tensor<32x64xf32>
  %7 = rec.add %5, %6 : tensor<32x64xf32>
  %8 = rec.sub %5, %6 : tensor<32x64xf32>
  %9 = rec.assume %x in [-1.0, 0.0] : tensor<64xf32>
)");
  EXPECT_EQ(reprinted(text), text);
}

TEST(RoundTrip, KeepsEveryBitOfNumbers) {
  const std::string text = with(R"(  %0 = rec.constant -0.606530666 dim K : tensor<64xf32>
  %1 = rec.assume %x in [-1.0e-07, 1.0e+300] : tensor<64xf32>
  %2 = rec.assume %x in [-0.6065306597126334, 1.0000000000000002] : tensor<64xf32>
)");
  EXPECT_EQ(reprinted(text), text);
}

TEST(RoundTrip, NamesAreThoseOfTheText) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = rec::parse(with("  %log_w = rec.neg %x : tensor<64xf32>\n"), "test.mlir", context);
  auto neg = *rec::recurrence_of(*module).getBody().getOps<rec::NegOp>().begin();
  EXPECT_EQ(neg.getName(), "log_w");
}

TEST(RoundTrip, AxesFollowFromDeclarations) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = rec::parse(with(R"(  %0 = rec.neg %x : tensor<64xf32>
  %1 = rec.scale %g, %0 : tensor<64xf32>
  %2 = rec.dot %S, %1 : tensor<32x64xf32>, tensor<64xf32> -> tensor<32xf32>
  %3 = rec.dot %0, %1 : tensor<64xf32>, tensor<64xf32> -> tensor<1xf32>
)"),
                           "test.mlir", context);
  auto body = rec::recurrence_of(*module).getBody().getOps<rec::ScaleOp>();
  EXPECT_EQ(rec::dim_of((*body.begin()).getResult()), rec::Dim::K);
  auto dots = rec::recurrence_of(*module).getBody().getOps<rec::DotOp>();
  EXPECT_EQ(rec::dim_of((*dots.begin()).getResult()), rec::Dim::V);
  EXPECT_EQ(rec::dim_of((*std::next(dots.begin())).getResult()), rec::Dim::One);
  EXPECT_EQ(rec::dim_of(rec::recurrence_of(*module).state().getResult()), std::nullopt);
}

}  // namespace
}  // namespace wkvc::test
