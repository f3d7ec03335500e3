// Every operation of the warp dialect prints as it was written.
#include <gtest/gtest.h>

#include "codegen/ir/Text.h"
#include "codegen/warp/Warp.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

std::string reprinted(const std::string& text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  return print(&parse(text, context)->getBody()->front());
}

TEST(RoundTrip, EveryOperation) {
  const std::string text = with(R"(    warp.note "what comes now"
    warp.wait_copies 0
    warp.publish_max %k, %k_max : memref<16x32xbf16, 3>, memref<2xf32, 3>
    warp.barrier
    warp.copy %k_ring ahead 1 : memref<16x32xbf16, 3>
    warp.commit_copies
    %scale = warp.scale_for %k_max, %k_max times 2.000000e+00 : memref<2xf32, 3>, memref<2xf32, 3>
    warp.slabs 32 {
    ^bb0(%column: index):
      %slab = warp.load %k[%column] : memref<16x32xbf16, 3> -> vector<16x16xbf16>
      %wide = warp.call "widen"(%slab) : (vector<16x16xbf16>) -> vector<16x16xf32>
      %last = warp.call "row"(%wide) with 1.500000e+01 : (vector<16x16xf32>) -> vector<1x16xf32>
      warp.store_row %last, %row[%column] : vector<1x16xf32>, memref<32xf32, 3>
      %u = warp.parameter "u"[%column] as bf16 : vector<1x16xf32>
      %sum = warp.call "add"(%wide, %u) : (vector<16x16xf32>, vector<1x16xf32>) -> vector<16x16xf32>
      %sum_f16 = warp.round %sum scale %scale : vector<16x16xf32> -> vector<16x16xf16>
      warp.store %sum_f16, %h[%column] : vector<16x16xf16>, memref<16x32xf16, 3>
    }
    warp.on_warp 1 {
      %AB = warp.mma %square, %h x_scale %scale, %h y_scale %scale : vector<16x16xf32>, memref<16x32xf16, 3>, memref<16x32xf16, 3>
      %lower = warp.call "tril_strict"(%AB) : (vector<16x16xf32>) -> vector<16x16xf32>
      %pair = warp.call "decayed_dot"(%k, %x, %k, %x) : (memref<16x32xbf16, 3>, memref<16x32xf32, 3>, memref<16x32xbf16, 3>, memref<16x32xf32, 3>) -> vector<16x16xf32>
    }
    %own = warp.load %x own transposed : memref<16x32xf32, 3> -> vector<16x16xf32>
    %whole = warp.load_row %row : memref<32xf32, 3> -> vector<1x32xf32>
    %S_f16 = warp.round %S own : vector<16x32xf32> -> vector<16x32xf16>
    %plain = warp.round %own : vector<16x16xf32> -> vector<16x16xbf16>
    %read = warp.mma %square, %S_f16, %h : vector<16x16xf32>, vector<16x32xf16>, memref<16x32xf16, 3>
    %wrote = warp.mma %S, %plain, %k_early y_transposed : vector<16x32xf32>, vector<16x16xbf16>, memref<16x32xbf16, 3>
    warp.store_output "o" %read transposed as bf16 : vector<16x16xf32>
)");
  EXPECT_EQ(reprinted(text), text);
}

TEST(RoundTrip, NamesOfArgumentsAreThoseOfTheText) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  auto module = parse(with("    warp.slabs 32 {\n    ^bb0(%first: index):\n    }\n"), context);
  module->walk([](warp::SlabsOp slabs) { EXPECT_EQ(name_of(slabs.getBody().getArgument(0)), "first"); });
  module->walk([](warp::LoopOp loop) { EXPECT_EQ(name_of(loop.getBody().getArgument(0)), "S"); });
}

}  // namespace
}  // namespace wkvc::test
