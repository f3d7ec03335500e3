// Every operation of the chunk dialect prints as it was written.
#include <gtest/gtest.h>

#include "codegen/chunk/Chunk.h"
#include "codegen/ir/Text.h"
#include "tests/chunk/chunk_text.h"

namespace wkvc::test {
namespace {

std::string reprinted(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<chunk::ChunkDialect>();
  return print(&parse(text, context)->getBody()->front());
}

TEST(RoundTrip, EveryOperation) {
  const std::string text = with(R"(  %c = chunk.constant 5.000000e-01 : tensor<1x1xf32>
  %zeros = chunk.constant 0.000000e+00 dims "TK" : tensor<16x32xf32>
  %do = chunk.input "do" gradient_of "o" dim "V" : tensor<16x48xbf16>
  %log2e = chunk.constant 1.4426950408889634 : tensor<1x1xf32>
  %neg = chunk.neg %x : tensor<16x32xf32>
  %exp = chunk.exp %x : tensor<16x32xf32>
  %exp2 = chunk.exp2 %x : tensor<16x32xf32>
  %log = chunk.log %x : tensor<16x32xf32>
  %sigmoid = chunk.sigmoid %x : tensor<16x32xf32>
  %tanh = chunk.tanh %x : tensor<16x32xf32>
  %softplus = chunk.softplus %x : tensor<16x32xf32>
  %relu = chunk.relu %x : tensor<16x32xf32>
  %sqrt = chunk.sqrt %x : tensor<16x32xf32>
  %reciprocal = chunk.reciprocal %g : tensor<16x1xf32>
  %sum = chunk.add %x, %u : tensor<16x32xf32>, tensor<1x32xf32> -> tensor<16x32xf32>
  %difference = chunk.sub %c, %x : tensor<1x1xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  %product = chunk.mul %x, %g : tensor<16x32xf32>, tensor<16x1xf32> -> tensor<16x32xf32>
  %bounded = chunk.at_least %x, -4.000000e+01 : tensor<16x32xf32>
  %above = chunk.exceeds %x, -4.000000e+01 : tensor<16x32xf32>
  %checked = chunk.not_below %x, -4.000000e+01 : tensor<16x32xf32>
  %k_f32 = chunk.widen %k : tensor<16x32xbf16> -> tensor<16x32xf32>
  %x_bf16 = chunk.round %x : tensor<16x32xf32> -> tensor<16x32xbf16>
  %x_f16 = chunk.round %x scale ["k", "x"] times 1.280000e+02 : tensor<16x32xf32> -> tensor<16x32xf16>
  %S_f16 = chunk.round %S scale [] times 0.000000e+00 : tensor<48x32xf32> -> tensor<48x32xf16>
  %S_by_S = chunk.round %S scale ["S"] times 1.280000e+02 : tensor<48x32xf32> -> tensor<48x32xf16>
  %dots = chunk.column_dots %S_f16, %S_by_S : tensor<48x32xf16>, tensor<48x32xf16> -> tensor<1x32xf32>
  %valid = chunk.keep_valid %x : tensor<16x32xf32>
  %L = chunk.cumsum %x : tensor<16x32xf32>
  %above_L = chunk.cumsum %x reverse : tensor<16x32xf32>
  %L_of_tokens = chunk.cumsum %g exclusive : tensor<16x1xf32>
  %behind = chunk.cumsum %g reverse exclusive : tensor<16x1xf32>
  %last = chunk.row %L[15] : tensor<16x32xf32> -> tensor<1x32xf32>
  %middle = chunk.row %L[7] anchor : tensor<16x32xf32> -> tensor<1x32xf32>
  %at_middle = chunk.at_row %middle[7] : tensor<1x32xf32> -> tensor<16x32xf32>
  %all = chunk.sum_rows %x : tensor<16x32xf32> -> tensor<1x32xf32>
  %0 = chunk.dot %x_f16 over 1, %S_f16 over 1 : tensor<16x32xf16>, tensor<48x32xf16> -> tensor<16x48xf32>
  %1 = chunk.dot %v over 0, %x over 0 : tensor<16x48xf32>, tensor<16x32xf32> -> tensor<48x32xf32>
  %2 = chunk.diagonal_dot %k, %x : tensor<16x32xbf16>, tensor<16x32xf32> -> tensor<16x16xf32>
  %3 = chunk.last_of_other_half %x half 8 : tensor<16x32xf32>
  %other_sum = chunk.sum_of_other_half %x half 2 : tensor<16x32xf32>
  %halves = chunk.select_halves %x, %L half 4 : tensor<16x32xf32>
  %4 = chunk.level_pairs %2 half 1 : tensor<16x16xf32>
  %5 = chunk.sum_columns %x : tensor<16x32xf32> -> tensor<16x1xf32>
  %diagonal = chunk.diagonal %2 : tensor<16x16xf32> -> tensor<16x1xf32>
  %upper = chunk.upper_rows %x half 4 : tensor<16x32xf32>
  %lower = chunk.lower_rows %x half 4 : tensor<16x32xf32>
  %6 = chunk.tril %2 : tensor<16x16xf32>
  %7 = chunk.tril %2 strict : tensor<16x16xf32>
  %M = chunk.unit_lower_inverse %7 in "f16" : tensor<16x16xf32>
  %x_bf16x3 = chunk.round %x : tensor<16x32xf32> -> tensor<16x32x!wkvc.bf16x3>
  %XX = chunk.dot %x_bf16x3 over 1, %x_bf16x3 over 1 : tensor<16x32x!wkvc.bf16x3>, tensor<16x32x!wkvc.bf16x3> -> tensor<16x16xf32>
  %M_f16x2 = chunk.round %M scale [] times 0.000000e+00 : tensor<16x16xf32> -> tensor<16x16x!wkvc.f16x2>
  %U = chunk.dot %M_f16x2 over 1, %x_f16 over 0 : tensor<16x16x!wkvc.f16x2>, tensor<16x32xf16> -> tensor<16x32xf32>
  %M_lower_f16x2 = chunk.round %M scale [] times 0.000000e+00 : tensor<16x16xf32> -> tensor<16x16x!wkvc.lower_f16x2>
  %U_2 = chunk.dot %M_lower_f16x2 over 1, %x_f16 over 0 : tensor<16x16x!wkvc.lower_f16x2>, tensor<16x32xf16> -> tensor<16x32xf32>
  %core = chunk.neg %M {slice = "core"} : tensor<16x16xf32>
  %small = chunk.exp %x {at_most = 1.000000e+00 : f32} : tensor<16x32xf32>
  chunk.output "dk" %x gradient_of "k" as "bf16" : tensor<16x32xf32>
  chunk.output "saved_M" %M kept as "f32" : tensor<16x16xf32>
)");
  EXPECT_EQ(reprinted(text), text);
}

TEST(RoundTrip, OperationsOfBackwardPrograms) {
  const std::string text = with_backward(R"(  %before = chunk.saved_state "before" exponent -7 : tensor<48x32xf32>
  %M = chunk.input "saved_M" kept dim "T" : tensor<16x16xf32>
  chunk.accumulate "du" %u gradient_of "u" as "bf16" : tensor<1x32xf32>
  chunk.update_saved %before : tensor<48x32xf32>
)");
  EXPECT_EQ(reprinted(text), text);
}

TEST(RoundTrip, NamesAreThoseOfTheText) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<chunk::ChunkDialect>();
  auto module = parse(with("  %log_w = chunk.neg %x : tensor<16x32xf32>\n"), context);
  module->walk([](chunk::NegOp neg) { EXPECT_EQ(name_of(neg.getResult()), "log_w"); });
}

TEST(RoundTrip, Summaries) {
  const std::string text =
      R"(chunk.program "example" attributes {chunk = 16 : i64, compute = "f16", key_dim = 32 : i64, schedule = #wkvc.schedule<grid(segments = 4)>, sram_budget = 232448 : i64, summary = "full", value_dim = 48 : i64} {
  %v = chunk.input "v" dim "V" : tensor<16x48xf32>
  %v_offset = chunk.offset %v : tensor<16x48xf32>
  %S = chunk.state "S" : tensor<48x32xf32>
  chunk.update %S : tensor<48x32xf32>
}
)";
  EXPECT_EQ(reprinted(text), text);
}

}  // namespace
}  // namespace wkvc::test
