// What a backward kernel copies ahead, and what it takes over from the forward pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "dsl/builtin.h"
#include "tests/expect_error.h"

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

constexpr const char* kAhead = "over groups backward ahead";
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

// With `matrices` in the schedules of a text of the stage chunk, one that is still to be differentiated or another one.
Source with_matrices(const std::string& after, const std::string& matrices) {
  const Config config{.pass = "both", .save_every = 64};
  std::string text = dump_after(source_from(rec_text(rwkv7(), config)), after, config);
  const std::string every = "every = 4";
  for (std::size_t at = text.find(every); at != std::string::npos; at = text.find(every, at + 1))
    text.insert(at + every.size(), ", matrices = " + matrices);
  return source_from(text);
}

TEST(Kept, InversesAreMadeAgainWhereTheScheduleSaysSo) {
  const std::string text = lower_to(with_matrices("schedule", "again"), Stage::warp, {});
  const std::size_t backward = text.find("rwkv7_backward");
  EXPECT_THAT(text, HasSubstr("checkpoint(every = 4, matrices = again)"));
  EXPECT_THAT(text, Not(HasSubstr("saved_M")));
  EXPECT_THAT(text.substr(0, backward), HasSubstr("unit_lower_inverse"));
  EXPECT_THAT(text.substr(backward), HasSubstr("unit_lower_inverse"));
  EXPECT_EQ(lower_to(with_matrices("schedule", "kept"), Stage::warp, {}),
            lower_to(source_from(rec_text(rwkv7(), {})), Stage::warp, {.pass = "both", .save_every = 64}));
}

// A text that was differentiated keeps what it keeps.
TEST(Kept, IsSettledByDifferentiation) {
  const auto error = user_error_of([] { lower_to(with_matrices("slice", "again"), Stage::warp, {}); });
  expect_contains(error, "'rwkv7' keeps 'saved_M', but its schedule says checkpoint(matrices = again): leave that out");
  const Source again = with_matrices("schedule", "again");
  const std::string differentiated = dump_after(again, "slice", {});
  EXPECT_EQ(lower_to(source_from(differentiated), Stage::warp, {}), lower_to(again, Stage::warp, {}));
}

}  // namespace
}  // namespace wkvc::test
