// What teams prepare and keep for what they make of the states, and who adds up what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "tests/count.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// The backward kernel without scales, by two teams, of decays of one number a token.
std::string backward_text(Stage stage, std::int64_t sram = 0) {
  const Config config{.key_dim = 128,
                      .value_dim = 128,
                      .io = "bf16",
                      .sram = sram,
                      .backward_teams = 2,
                      .pass = "both",
                      .save_every = 64,
                      .saved = "f16",
                      .scales = "guarded"};
  const std::string text = lower_to({Stage::rec, rec_text(recurrence_named("gated_delta_net"), config)}, stage, config);
  const std::string begin = stage == Stage::placed ? "attributes {backward" : "_backward: emitted";
  const std::string end = stage == Stage::placed ? "chunk.program" : "_backward_scaled: emitted";
  const std::size_t first = text.find(begin);
  return text.substr(first, text.find(end, first) - first);
}

// What teams make of the states.
std::string finish_text(const std::string& kernel) { return kernel.substr(kernel.find("Each team finishes")); }

std::int64_t shared_bytes(const std::string& kernel) {
  const std::string name = "\"shared_bytes\":";
  return std::stoll(kernel.substr(kernel.find(name) + name.size()));
}

TEST(KeptForFinish, NumbersAreLoaded) {
  const std::string finish = finish_text(backward_text(Stage::cuda));
  EXPECT_THAT(finish, Not(HasSubstr("beta_global, block, 16LL * c, valid);")));
  EXPECT_THAT(finish, Not(HasSubstr(" = cumsum(log_w_valid")));
  EXPECT_THAT(finish, HasSubstr("load_column<16>(e_L"));
  EXPECT_THAT(finish, HasSubstr("load_number(e_last"));
}

// Decays between tokens, and the matrix of inputs beside them, are made while teams prepare, by warps that are idle.
TEST(KeptForFinish, MatricesAreLoaded) {
  const std::string text = backward_text(Stage::cuda), finish = finish_text(text);
  EXPECT_THAT(finish, Not(HasSubstr("g_global, block, 16LL * c, valid);")));
  EXPECT_THAT(finish, Not(HasSubstr("exp2(")));
  EXPECT_EQ(count(finish, " = load(e_pairs_2_shared);"), 2) << finish;
  EXPECT_EQ(count(text, "// k_k = k·kᵀ"), 1);
  EXPECT_LT(text.find("// k_k = k·kᵀ"), text.find("Each team finishes"));
}

// dk_in·k sums up to a number that both gradients are made of.
TEST(UntiedSums, AreOfSeveralWarps) {
  const std::string text = finish_text(backward_text(Stage::cuda));
  const auto warp_of = [&](const std::string& gradient) {
    const std::string branch = "if (team.warp == ";
    return text[text.rfind(branch, text.find("(" + gradient + "_global, block")) + branch.size()];
  };
  EXPECT_NE(warp_of("dlog_w"), warp_of("dgate")) << text;
  EXPECT_EQ(count(text, " = load_column_sum<16>(dk_in_k_sum_shared"), 2);
}

// Inputs of the next round are copied while the last numbers are added up: no barrier waits for those.
TEST(LastPhase, BeginsWithTheNextCopies) {
  const std::string text = backward_text(Stage::cuda), finish = finish_text(text);
  const std::size_t copies = finish.find(".copy("), sums = finish.rfind("if (team.warp == ");
  ASSERT_NE(copies, std::string::npos);
  EXPECT_LT(copies, sums) << finish;
  EXPECT_EQ(finish.find("team.barrier()", copies), std::string::npos) << finish;
  const std::string states = text.substr(text.find("Each team prepares its chunk of the round."));
  EXPECT_LT(states.find(".copy("), states.find("The states before the chunks of this round")) << "what teams have read";
}

// Without room matrices, and then numbers, too, are made again.
TEST(KeptForFinish, TakesNoRoomThatThereIsNot) {
  const std::int64_t most = shared_bytes(backward_text(Stage::cuda));
  EXPECT_EQ(count(backward_text(Stage::placed, most), "for_finish"), 4) << "two numbers, two matrices";
  EXPECT_EQ(count(backward_text(Stage::placed, most - 1), "for_finish"), 2) << "two numbers";
  EXPECT_EQ(count(backward_text(Stage::placed, most - 6400), "for_finish"), 0);
}

}  // namespace
}  // namespace wkvc::test
