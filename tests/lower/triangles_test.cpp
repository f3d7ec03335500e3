// Contractions say which operand is triangular where masked pairs are not multiplied, and where decays depend on no
// later token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "dsl/builtin.h"
#include "tests/count.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const Definition& definition, const std::string& mma, Stage stage, Config config = {}) {
  config.pass = "both";
  config.mma = config.io = mma;
  return lower_to({Stage::rec, rec_text(definition, config)}, stage, config);
}

// Forward U0, U and two terms of O. Backward U0 and U twice, and a term of dr, da, dk or db from each gradient of a
// matrix and from its transpose; dU, dU0 and two terms of dv.
TEST(Triangles, AreThoseOfMatricesOfTokens) {
  const std::string text = text_of(rwkv7(), "f32", Stage::warp);
  const std::size_t backward = text.find("warp.kernel \"rwkv7_backward\"");
  EXPECT_EQ(count(text.substr(0, backward), "_triangle lower"), 4);
  EXPECT_EQ(count(text.substr(0, backward), "_triangle upper"), 0);
  EXPECT_EQ(count(text.substr(backward), "_triangle lower"), 8);
  EXPECT_EQ(count(text.substr(backward), "_triangle upper"), 8);
}

// Plain kernels refuse what is not finite, and in clusters it would cost the chain of states. What is refused there is
// done without clusters.
TEST(Triangles, AreNotOfPlainKernelsAndClusters) {
  Config cluster;
  cluster.teams = cluster.rounds = cluster.cluster = 2;
  for (const char* mma : {"f16", "bf16"}) {
    for (Config guarded : {Config{}, cluster}) {
      guarded.scales = guarded.backward_scales = "guarded";
      const std::string text = text_of(rwkv7(), mma, Stage::warp, guarded);
      const std::size_t refused = text.find("warp.kernel \"rwkv7_forward_scaled\"");
      EXPECT_THAT(text.substr(0, refused), Not(HasSubstr("_triangle")));
      EXPECT_THAT(text.substr(refused, text.find("warp.kernel", refused + 1) - refused), HasSubstr("_triangle"));
    }
    const std::string of_cluster = text_of(rwkv7(), mma, Stage::warp, cluster);
    EXPECT_THAT(of_cluster.substr(0, of_cluster.find("warp.kernel \"rwkv7_backward\"")), Not(HasSubstr("_triangle")));
  }
}

// In f32 and without scales factors are anchored at a number where the range of log decays is known, and the state is
// carried decayed by it.
TEST(Triangles, NoRowOfTheMiddleIsReadWhereANumberFits) {
  EXPECT_THAT(text_of(rwkv7(), "f32", Stage::chunk), Not(HasSubstr("anchor")));
  Config guarded;
  guarded.scales = guarded.backward_scales = "guarded";
  const std::string text = text_of(rwkv7(), "f16", Stage::chunk, guarded);
  const std::size_t refused = text.find("chunk.program", 1);
  EXPECT_THAT(text.substr(0, refused), Not(HasSubstr("anchor")));
  EXPECT_THAT(text.substr(0, refused), HasSubstr("chunk.state \"S\" exponent -7"));
  EXPECT_THAT(text, HasSubstr("chunk.saved_state \"S\" exponent -7"));
  EXPECT_THAT(text, HasSubstr("chunk.state \"dS\" exponent 7"));
  EXPECT_THAT(text.substr(refused), HasSubstr("anchor"));
}

// A middle row that is not a number would reach the tokens before it.
TEST(Triangles, AnchorsAreNumbers) { EXPECT_THAT(text_of(rwkv7(), "f16", Stage::warp), HasSubstr("\"zero_if_nan\"")); }

}  // namespace
}  // namespace wkvc::test
