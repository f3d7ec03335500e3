// Contractions in f32 say which operand is triangular, and decays depend on no later token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "dsl/builtin.h"
#include "tests/count.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const Definition& definition, const std::string& mma, Stage stage) {
  Config config;
  config.pass = "both";
  config.mma = config.io = mma;
  return lower_to({Stage::rec, rec_text(definition, config)}, stage, config);
}

// Forward U0, U and two terms of O. Backward U0 and U twice, and a term of dr, da, dk or db from each gradient of a
// matrix and from its transpose; dU, dU0 and two terms of dv.
TEST(Triangles, AreThoseOfMatricesOfTokens) {
  const std::string text = text_of(rwkv7(), "f32", Stage::warp);
  const std::size_t backward = text.find("warp.kernel \"rwkv7_backward\"");
  EXPECT_EQ(count(text.substr(0, backward), "_triangle \"lower\""), 4);
  EXPECT_EQ(count(text.substr(0, backward), "_triangle \"upper\""), 0);
  EXPECT_EQ(count(text.substr(backward), "_triangle \"lower\""), 8);
  EXPECT_EQ(count(text.substr(backward), "_triangle \"upper\""), 8);
}

TEST(Triangles, AreOfF32Alone) {
  for (const char* mma : {"f16", "bf16"}) EXPECT_THAT(text_of(rwkv7(), mma, Stage::warp), Not(HasSubstr("_triangle")));
}

// Where the range of log decays is known, factors are anchored at a number instead of a row.
TEST(Triangles, NoRowOfTheMiddleIsReadInF32) {
  EXPECT_THAT(text_of(rwkv7(), "f32", Stage::chunk), Not(HasSubstr("anchor")));
  EXPECT_THAT(text_of(rwkv7(), "f16", Stage::chunk), HasSubstr("anchor"));
}

}  // namespace
}  // namespace wkvc::test
