#include "codegen/rec/Ranges.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/rec/rec_text.h"

namespace wkvc::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// The interval of the value that the last of these lines, over a in [-1, 2], b in [0.5, 4] and any x, defines.
rec::Interval range_after(const std::string& lines) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const std::string ranged = R"(  %a = rec.input "a" dim K in [-1.0, 2.0] : tensor<64xf32>
  %b = rec.parameter "b" dim K in [0.5, 4.0] : tensor<64xf32>
)";
  auto module = rec::parse(with(ranged + lines), "test.mlir", context);
  auto update = rec::recurrence_of(*module).update();
  return rec::range_of(update->getPrevNode()->getResult(0));
}

rec::Interval range_of_unary(const std::string& op) { return range_after("  %0 = rec." + op + " : tensor<64xf32>\n"); }

void expect_near(rec::Interval interval, double lo, double hi) {
  EXPECT_NEAR(interval.lo, lo, 1e-12);
  EXPECT_NEAR(interval.hi, hi, 1e-12);
}

TEST(Ranges, Declared) {
  EXPECT_EQ(range_of_unary("assume %x in [-3.0, 1.0]"), (rec::Interval{-3, 1}));
  EXPECT_EQ(range_of_unary("assume %a in [-3.0, 1.0]"), (rec::Interval{-1, 1}));
  EXPECT_EQ(range_of_unary("assume %a in [5.0, 6.0]"), (rec::Interval{5, 6}));
  EXPECT_EQ(range_after("  %z = rec.input \"z\" dim K : tensor<64xbf16>\n"), rec::Interval{});
}

TEST(Ranges, UnaryFunctions) {
  EXPECT_EQ(range_of_unary("neg %a"), (rec::Interval{-2, 1}));
  expect_near(range_of_unary("exp %a"), std::exp(-1), std::exp(2));
  EXPECT_EQ(range_of_unary("exp %x"), (rec::Interval{0, inf}));
  expect_near(range_of_unary("log %b"), std::log(0.5), std::log(4));
  EXPECT_EQ(range_of_unary("log %a").lo, -inf);
  EXPECT_EQ(range_of_unary("sigmoid %x"), (rec::Interval{0, 1}));
  expect_near(range_of_unary("sigmoid %a"), 1 / (1 + std::exp(1)), 1 / (1 + std::exp(-2)));
  EXPECT_EQ(range_of_unary("tanh %x"), (rec::Interval{-1, 1}));
  EXPECT_EQ(range_of_unary("softplus %x"), (rec::Interval{0, inf}));
  EXPECT_EQ(range_of_unary("relu %a"), (rec::Interval{0, 2}));
  expect_near(range_of_unary("sqrt %b"), std::sqrt(0.5), 2);
  EXPECT_EQ(range_of_unary("sqrt %a").lo, 0);
  EXPECT_EQ(range_of_unary("reciprocal %b"), (rec::Interval{0.25, 2}));
  EXPECT_EQ(range_of_unary("reciprocal %a"), rec::Interval{});
}

TEST(Ranges, ReciprocalOfOneSign) {
  const std::string exp = "  %0 = rec.exp %x : tensor<64xf32>\n";
  EXPECT_EQ(range_after(exp + "  %1 = rec.reciprocal %0 : tensor<64xf32>\n"), (rec::Interval{0, inf}));
  const std::string neg = "  %1 = rec.neg %0 : tensor<64xf32>\n";
  EXPECT_EQ(range_after(exp + neg + "  %2 = rec.reciprocal %1 : tensor<64xf32>\n"), (rec::Interval{-inf, 0}));
}

TEST(Ranges, Binary) {
  EXPECT_EQ(range_of_unary("add %a, %b"), (rec::Interval{-0.5, 6}));
  EXPECT_EQ(range_of_unary("sub %a, %b"), (rec::Interval{-5, 1.5}));
  EXPECT_EQ(range_of_unary("mul %a, %b"), (rec::Interval{-4, 8}));
  EXPECT_EQ(range_of_unary("mul %a, %a"), (rec::Interval{0, 4}));
  EXPECT_EQ(range_of_unary("mul %b, %b"), (rec::Interval{0.25, 16}));
  EXPECT_EQ(range_of_unary("mul %x, %b"), rec::Interval{});
}

TEST(Ranges, ScalarsKeepTheirs) {
  const std::string scalar = "  %s = rec.sigmoid %g : tensor<1xf32>\n";
  EXPECT_EQ(range_after(scalar + "  %0 = rec.broadcast %s dim K : tensor<64xf32>\n"), (rec::Interval{0, 1}));
  EXPECT_EQ(range_after(scalar + "  %0 = rec.scale %s, %a : tensor<64xf32>\n"), (rec::Interval{-1, 2}));
}

TEST(Ranges, ZeroTimesAnything) {
  const std::string zero = "  %z = rec.constant 0.0 dim K : tensor<64xf32>\n";
  EXPECT_EQ(range_after(zero + "  %0 = rec.mul %z, %x : tensor<64xf32>\n"), (rec::Interval{0, 0}));
}

TEST(Ranges, ContractionsAreUnknown) {
  EXPECT_EQ(range_after("  %0 = rec.dot %a, %b : tensor<64xf32>, tensor<64xf32> -> tensor<1xf32>\n"), rec::Interval{});
  EXPECT_EQ(range_after("  %0 = rec.diag_mul %S, %a : tensor<32x64xf32>, tensor<64xf32>\n"), rec::Interval{});
}

TEST(Ranges, BoundedDecay) {
  const rec::Interval decay = range_after(R"(  %k_f32 = rec.cast %k : tensor<64xbf16> to tensor<64xf32>
  %s = rec.sigmoid %k_f32 : tensor<64xf32>
  %c = rec.constant -0.606530666 dim K : tensor<64xf32>
  %log_w = rec.mul %c, %s : tensor<64xf32>
)");
  EXPECT_NEAR(decay.lo, -std::exp(-0.5), 1e-7);
  EXPECT_EQ(decay.hi, 0);
  EXPECT_TRUE(decay.bounded());
  EXPECT_NEAR(decay.magnitude(), std::exp(-0.5), 1e-7);
}

TEST(Ranges, UnboundedDecay) {
  const rec::Interval decay = range_after("  %0 = rec.exp %x : tensor<64xf32>\n  %1 = rec.neg %0 : tensor<64xf32>\n");
  EXPECT_EQ(decay, (rec::Interval{-inf, 0}));
  EXPECT_FALSE(decay.bounded());
}

}  // namespace
}  // namespace wkvc::test
