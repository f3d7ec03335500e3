#include "codegen/steep_decays.h"

#include <gtest/gtest.h>

#include "dsl/builtin.h"
#include "dsl/wkvc.h"
#include "runtime/error.h"

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

}  // namespace
}  // namespace wkvc::test
