// What a backward kernel copies ahead, and what it takes over from the forward pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "dsl/builtin.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string kernels(const Definition& definition, int save_every, int backward_blocks) {
  Config config;
  config.pass = "both";
  config.save_every = save_every;
  config.backward_blocks = backward_blocks;
  config.saved = "f16";
  return lower_to({Stage::rec, rec_text(definition, config)}, Stage::warp, config);
}

constexpr const char* kAhead = "over \"groups\" backward ahead";
constexpr const char* kKeptStates = "workspace chunk_states";
constexpr const char* kNext = "warp.copy_saved \"saved_states\", %S_group_staged ahead 0 next";

// Of two chunks the first one's state was saved, and the second one's stays where it is computed.
TEST(Ahead, PairsOfChunksNeedNoWorkspace) {
  const std::string text = kernels(rwkv7(), 32, 2);
  EXPECT_THAT(text, HasSubstr(kAhead));
  EXPECT_THAT(text, HasSubstr(kNext));
  EXPECT_THAT(text, Not(HasSubstr(kKeptStates)));
}

TEST(Ahead, LongerGroupsKeepTheStatesBetween) {
  const std::string text = kernels(rwkv7(), 64, 2);
  EXPECT_THAT(text, HasSubstr(kAhead));
  EXPECT_THAT(text, HasSubstr(kKeptStates));
  EXPECT_THAT(text, HasSubstr("ahead 1 first_from \"saved_states\""));
  EXPECT_THAT(text, HasSubstr("but_last"));
}

// A third block is worth more.
TEST(Ahead, NoBlockIsGivenUpForIt) {
  const std::string text = kernels(rwkv6(), 64, 3);
  EXPECT_THAT(text, Not(HasSubstr(kAhead)));
  EXPECT_THAT(text, HasSubstr(kKeptStates));
  EXPECT_THAT(text, Not(HasSubstr("first_from")));
}

TEST(Ahead, NothingWhereEveryStateIsSaved) { EXPECT_THAT(kernels(rwkv7(), 16, 2), Not(HasSubstr("groups"))); }

TEST(Kept, InversesAreNotMadeAgain) {
  const std::string text = kernels(rwkv7(), 64, 2);
  const std::size_t backward = text.find("rwkv7_backward");
  EXPECT_THAT(text.substr(0, backward), HasSubstr("unit_lower_inverse"));
  EXPECT_THAT(text.substr(0, backward), HasSubstr("warp.store_matrix \"saved_M\""));
  EXPECT_THAT(text.substr(backward), Not(HasSubstr("unit_lower_inverse")));
  EXPECT_THAT(kernels(rwkv6(), 64, 2), Not(HasSubstr("\"kept ")));
}

}  // namespace
}  // namespace wkvc::test
