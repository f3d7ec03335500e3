// Numbers of tokens leave the operands of contractions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "tests/count.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// The program without scales of the text after a stage.
std::string plain_text(const std::string& recurrence, const std::string& pass, Stage stage, int teams = 1) {
  Config config;
  config.pass = pass;
  config.scales = "guarded";
  config.key_dim = config.value_dim = 128;
  config.teams = teams;
  config.rounds = teams > 1 ? 2 : 1;
  const Definition definition = recurrence_named(recurrence);
  const std::string text = lower_to({Stage::rec, rec_text(definition, config)}, stage, config);
  return text.substr(0, text.find(stage == Stage::chunk ? "chunk.program" : "warp.kernel", 1));
}

// Of q and k there is one operand each; the number multiplies what is read of the state, and U.
TEST(TokenFactors, LeaveInputsAsTheyAre) {
  const std::string text = plain_text("gated_delta_net", "forward", Stage::chunk);
  EXPECT_EQ(count(text, "chunk.round"), 8) << text;  // k, r, S, M, U0, RK, U, and U times its numbers
  EXPECT_THAT(text, Not(HasSubstr("%k_in")));
  EXPECT_THAT(text, Not(HasSubstr("%k_out")));
}

// One warp makes them; those of value rows load them, and read no input of one number a token.
TEST(TokenFactors, AreMadeOnceForValueRows) {
  const std::string text = plain_text("gated_delta_net", "forward", Stage::warp, 2);
  const std::size_t rows = text.find("warp.role state");
  ASSERT_NE(rows, std::string::npos);
  EXPECT_THAT(text.substr(rows), Not(HasSubstr("warp.tokens")));
  EXPECT_THAT(text.substr(rows), HasSubstr("warp.load_vector"));
  EXPECT_LT(text.find("warp.tokens"), text.find("warp.acquire"));
}

}  // namespace
}  // namespace wkvc::test
