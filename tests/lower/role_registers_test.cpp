// Warps that prepare chunks ahead give registers to those of a wide state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "dsl/builtin.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(int keys, int teams, int rounds) {
  Config config;
  config.key_dim = config.value_dim = keys;
  config.teams = teams;
  config.rounds = rounds;
  config.blocks = 1;
  config.scales = "guarded";
  return lower_to({Stage::rec, rec_text(rwkv7(), config)}, Stage::cuda, config);
}

// 16 warps are launched with 128 registers a thread: as many as both roles have then.
TEST(RoleRegisters, OfAWideStateAreMore) {
  const std::string text = text_of(128, 2, 2);
  EXPECT_THAT(text, HasSubstr("block.give_registers<112>();"));
  EXPECT_THAT(text, HasSubstr("block.take_registers<144>();"));
  EXPECT_LT(text.find("give_registers"), text.find("take_registers"));
}

TEST(RoleRegisters, AreEvenWhereTheStateIsNarrowOrNoWarpsPrepareAhead) {
  EXPECT_THAT(text_of(64, 2, 2), Not(HasSubstr("_registers<")));
  EXPECT_THAT(text_of(128, 2, 1), Not(HasSubstr("_registers<")));
}

}  // namespace
}  // namespace wkvc::test
