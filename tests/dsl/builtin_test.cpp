// The built-in recurrences as text.
#include "dsl/builtin.h"

#include <cmath>

#include "codegen/rec/Ranges.h"
#include "dsl/build.h"
#include "dsl/registry.h"
#include "tests/expect_error.h"

namespace wkvc::test {
namespace {

// The range of what is given to the exponential function of the decay.
rec::Interval decay_range(const Definition& definition) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = build(definition, context);
  auto decays = rec::recurrence_of(*module).getBody().getOps<rec::DiagMulOp>();
  auto exp = (*decays.begin()).getDiagonal().getDefiningOp<rec::ExpOp>();
  return rec::range_of(exp.getOperand());
}

TEST(Builtin, DecayRanges) {
  EXPECT_NEAR(decay_range(rwkv7()).lo, -std::exp(-0.5), 1e-7);
  EXPECT_EQ(decay_range(rwkv7()).hi, 0);
  EXPECT_EQ(decay_range(rwkv7_logw()), (rec::Interval{-1e6, 0}));
  EXPECT_EQ(decay_range(rwkv6()), (rec::Interval{-std::numeric_limits<double>::infinity(), 0}));
}

TEST(Builtin, Rwkv6ReadsTheStateBeforeTheToken) {
  const std::string text = rec_text(rwkv6());
  expect_contains(text, "%u = rec.parameter \"u\" dim K : tensor<64xbf16>");
  expect_contains(text, "rec.add %S, ");
}

TEST(Builtin, TextsParseBackToThemselvesAtEveryHead) {
  const Registry registry = Registry::builtin();
  for (const std::string& name : registry.names())
    for (int head : {16, 32, 64, 128, 256}) {
      const std::string text =
          rec_text(registry.find(name),
                   {.key_dim = head, .value_dim = 64, .io = {}, .mma = {}, .state = {}, .saved = {}, .gradients = {}});
      mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
      EXPECT_EQ(rec::print(*rec::parse(text, "test.mlir", context)), text);
    }
}

}  // namespace
}  // namespace wkvc::test
