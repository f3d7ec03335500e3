#include "codegen/decays.h"

#include <gtest/gtest.h>

#include "dsl/builtin.h"
#include "dsl/wkvc.h"
#include "runtime/error.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

bool may_be_steep(const Definition& definition, const Config& config) {
  return may_decay_steeply({Stage::rec, rec_text(definition, config)}, config);
}

Config guarded(int chunk) {
  return {.key_dim = 32, .value_dim = 32, .mma = "f16", .chunk = chunk, .scales = "guarded"};
}

TEST(SteepDecays, AreThoseWithoutARange) {
  EXPECT_TRUE(may_be_steep(rwkv6(), guarded(16)));
  EXPECT_TRUE(may_be_steep(rwkv7_logw(), guarded(16)));
  EXPECT_FALSE(may_be_steep(rwkv7(), guarded(16)));
  Config scaled = guarded(16);
  scaled.scales = "always";
  EXPECT_FALSE(may_be_steep(rwkv6(), scaled));
}

TEST(SteepDecays, HaveTheMessagesOfLowering) { EXPECT_THROW(may_be_steep(rwkv7(), guarded(64)), UserError); }

bool are_numbers(const Definition& definition, const Config& config) {
  return decays_by_numbers({Stage::rec, rec_text(definition, config)}, config);
}

TEST(DecaysByNumbers, AreThoseOfTokensNotOfKeys) {
  Config config = guarded(16);
  config.pass = "both";
  EXPECT_FALSE(are_numbers(rwkv7(), config));
  EXPECT_FALSE(are_numbers(rwkv6(), config));
  EXPECT_TRUE(are_numbers(recurrence_named("token_decay"), config));
  EXPECT_TRUE(are_numbers(recurrence_named("delta_net"), config));     // nothing decays
  EXPECT_TRUE(are_numbers(recurrence_named("gate_of_head"), config));  // with an exp of its own
  EXPECT_TRUE(are_numbers(recurrence_named("gated_delta_net"), config));
  EXPECT_FALSE(are_numbers(recurrence_named("head_decay"), config));
}

}  // namespace
}  // namespace wkvc::test
