// What expressions become in the rec dialect.
#include <gtest/gtest.h>

#include <cmath>

#include "dsl/wkvc.h"
#include "tests/expect_error.h"

using namespace wkvc;  // as users do

namespace {

using test::expect_contains;

// The issue's example, as a user types it.
const auto example = recurrence("example", [](Recurrence& op) {
  Dim K = op.key_dim(64), V = op.value_dim(64);
  auto [r, w, k, a, b] = op.inputs(K, bf16, "r", "w", "k", "a", "b");
  auto v = op.input("v", V, bf16);
  op.compute(f16);
  auto log_w = -std::exp(-0.5f) * sigmoid(cast<f32>(w));
  auto S = op.state("S", V, K, f32);
  auto next = S * diag(exp(log_w)) + outer(dot(S, a), b) + outer(v, k);
  op.update(S, next);
  op.output("o", dot(next, r), bf16);
  op.sram_budget(227_KiB);
});

TEST(Language, TheExample) {
  EXPECT_EQ(
      rec_text(example),
      R"(rec.recurrence @example attributes {key_dim = 64, value_dim = 64, compute = "f16", sram_budget = 232448} {
  %r = rec.input "r" dim K : tensor<64xbf16>
  %w = rec.input "w" dim K : tensor<64xbf16>
  %k = rec.input "k" dim K : tensor<64xbf16>
  %a = rec.input "a" dim K : tensor<64xbf16>
  %b = rec.input "b" dim K : tensor<64xbf16>
  %v = rec.input "v" dim V : tensor<64xbf16>
  %S = rec.state "S" : tensor<64x64xf32>
  %0 = rec.constant -0.606530666 dim K : tensor<64xf32>
  %w_f32 = rec.cast %w : tensor<64xbf16> to tensor<64xf32>
  %1 = rec.sigmoid %w_f32 : tensor<64xf32>
  %2 = rec.mul %0, %1 : tensor<64xf32>
  %3 = rec.exp %2 : tensor<64xf32>
  %4 = rec.diag_mul %S, %3 : tensor<64x64xf32>, tensor<64xf32>
  %5 = rec.dot %S, %a : tensor<64x64xf32>, tensor<64xbf16> -> tensor<64xf32>
  %6 = rec.outer %5, %b : tensor<64xf32>, tensor<64xbf16> -> tensor<64x64xf32>
  %7 = rec.add %4, %6 : tensor<64x64xf32>
  %8 = rec.outer %v, %k : tensor<64xbf16>, tensor<64xbf16> -> tensor<64x64xf32>
  %S_next = rec.add %7, %8 : tensor<64x64xf32>
  rec.update %S, %S_next : tensor<64x64xf32>
  %o = rec.dot %S_next, %r : tensor<64x64xf32>, tensor<64xbf16> -> tensor<64xf32>
  rec.output "o" %o dim V : tensor<64xf32> as bf16
}
)");
}

struct Operands {
  Expr k, v, x, y, g, S;
};

// A complete recurrence around an output of what `make` makes of: k (K, bf16), v (V, bf16), x (K), y (V), g (scalar).
std::string text_with(const std::function<Expr(Recurrence&, const Operands&)>& make) {
  return rec_text(recurrence("around", [&](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(32);
    const Operands values{op.input("k", K, bf16), op.input("v", V, bf16),     op.input("x", K, f32),
                          op.input("y", V, f32),  op.input("g", scalar, f32), op.state("S", V, K, f32)};
    op.compute(f16);
    const Expr result = make(op, values);
    op.update(values.S, values.S);
    op.output("o", result, f32);
  }));
}

TEST(Language, Functions) {
  const std::string text = text_with(
      [](Recurrence&, const Operands& at) { return -exp(log(sigmoid(tanh(softplus(relu(sqrt(reciprocal(at.x)))))))); });
  std::size_t position = 0;
  for (const char* op : {"reciprocal", "sqrt", "relu", "softplus", "tanh", "sigmoid", "log", "exp", "neg"}) {
    const std::size_t next = text.find(std::string("rec.") + op + " ");
    ASSERT_NE(next, std::string::npos) << op;
    EXPECT_GT(next, position) << op;
    position = next;
  }
}

TEST(Language, ScalarsGoWithVectors) {
  const std::string text = text_with([](Recurrence&, const Operands& at) { return at.g * at.x + (at.g - 1.0f); });
  expect_contains(text, "rec.scale %g, %x : tensor<64xf32>");
  expect_contains(text, "rec.constant 1.000000e+00 dim 1 : tensor<1xf32>");
  expect_contains(text, "dim K : tensor<64xf32>\n");
  expect_contains(text, "rec.broadcast");
}

TEST(Language, MatricesAreScaled) {
  const std::string text =
      text_with([](Recurrence&, const Operands& at) { return dot(0.5f * at.S - at.S * at.g, at.k, f32); });
  expect_contains(text, "rec.constant 5.000000e-01 dim 1 : tensor<1xf32>");
  expect_contains(text, "rec.scale %g, %S : tensor<32x64xf32>");
  expect_contains(text, "rec.sub");
  expect_contains(text, "compute \"f32\"");
}

TEST(Language, VectorsContractToScalars) {
  expect_contains(text_with([](Recurrence&, const Operands& at) { return dot(at.k, at.x, f32); }),
                  "%o = rec.dot %k, %x compute \"f32\" : tensor<64xbf16>, tensor<64xf32> -> tensor<1xf32>");
}

TEST(Language, LetNamesValues) {
  expect_contains(text_with([](Recurrence& op, const Operands& at) { return op.let("twice", at.x + at.x); }),
                  "%twice = rec.add %x, %x");
}

TEST(Language, RangesOfTensorsAndValues) {
  const std::string text = text_with([](Recurrence& op, const Operands& at) {
    auto p = op.parameter("p", Dim{Dim::Axis::K, 64}, f16).in(-2, 3);
    return (at.x.in(-1, 1) * cast<f32>(p)).in(0, 4);
  });
  expect_contains(text, "rec.input \"x\" dim K in [-1.0, 1.0] : tensor<64xf32>");
  expect_contains(text, "rec.parameter \"p\" dim K in [-2.0, 3.0] : tensor<64xf16>");
  expect_contains(text, "rec.assume %0 in [0.0, 4.0]");
}

// What an expression was moved from is still that value, wherever it is used next.
TEST(Language, MovedExpressionsStayWhatTheyAre) {
  const std::string text = text_with([](Recurrence& op, const Operands& at) {
    Expr x = at.x;
    const Expr taken(static_cast<Expr&&>(x));
    Expr assigned = at.k;
    assigned = static_cast<Expr&&>(x);
    op.output("dotted", dot(x, at.k), f32);
    return -x.in(0, 1) + taken * exp(x) + assigned;
  });
  expect_contains(text, "rec.dot %x, %k");
  expect_contains(text, "rec.exp %x");
}

TEST(Language, NamesGivenByTheLoweringDontCollide) {
  const std::string text = text_with([](Recurrence& op, const Operands& at) {
    op.input("k_f32", Dim{Dim::Axis::K, 64}, f32);
    return cast<f32>(at.k) + at.x;
  });
  expect_contains(text, "%k_f32 = rec.input");
  expect_contains(text, "%0 = rec.cast %k");
}

TEST(Language, AnInputMayBeOutput) {
  expect_contains(text_with([](Recurrence&, const Operands& at) { return at.x; }), "rec.output \"o\" %x dim K");
}

template <class T>
concept goes_with_expressions = requires(T x, Expr e) { x * e; };
static_assert(goes_with_expressions<float>);
static_assert(!goes_with_expressions<double>);
static_assert(!goes_with_expressions<int>);
static_assert(!goes_with_expressions<bool>);
static_assert(!goes_with_expressions<DType>);

static_assert(227_KiB == 232448);
static_assert(18446744073709551615_KiB > 0);

}  // namespace
