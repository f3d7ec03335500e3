// What the warp dialect refuses of plain kernels, and of kernels that take what plain kernels refuse.
#include <gmock/gmock.h>

#include "tests/warp/cases.h"
#include "tests/warp/warp_text.h"

namespace wkvc::test {
namespace {

// A kernel with a guard: these lines at its beginning and before it leaves its state.
std::string guarded(const std::string& attribute, const std::string& begin, const std::string& end,
                    const std::string& refused = "workspace forward_refused f32 B,H,1,1") {
  std::string text = header() + begin + buffers() + loop() + ending();
  text.replace(text.find("]"), 1, ", \"" + refused + "\"] attributes {" + attribute + "}");
  return text.insert(text.find("  warp.store_state"), end);
}

TEST(Guards, StandWhereBlocksBeginAndEnd) {
  const std::string expect = "  warp.expect \"forward_refused\" [\"k\"] gradients []\n";
  const std::string refuse = "  warp.refuse \"forward_refused\" %final : !warp.tile<16x32xf32, fragments>\n";
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
  const std::string refuse = "  warp.refuse \"forward_refused\" %final : !warp.tile<16x32xf32, fragments>\n";
  const auto stopping = [&](std::string text, const std::string& before) {
    return text.insert(text.find(before), "    warp.barrier refuses\n");
  };
  const std::string plain = guarded("plain", expect, refuse);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<warp::WarpDialect>();
  EXPECT_THAT(print(&parse(stopping(plain, "    warp.yield"), context)->getBody()->front()),
              testing::HasSubstr("      warp.barrier refuses\n      warp.yield"));
  expect_contains(error_of(stopping(plain, "  warp.refuse")), "belongs in a sweep of a plain kernel");
  expect_contains(
      error_of(stopping(guarded("refused", "  warp.only_refused \"forward_refused\"\n", ""), "    warp.yield")),
      "belongs in a sweep of a plain kernel");
}

}  // namespace
}  // namespace wkvc::test
