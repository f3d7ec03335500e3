// Emitted texts are those that were committed. A refactoring leaves all of them; a change of texts renews the hashes.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <mutex>

#include "tests/emitted/hashes.h"

namespace wkvc::test {
namespace {

TEST(Emitted, TextsAreThoseThatWereCommitted) {
  const std::vector<std::string> found = changes(read_hashes(WKVC_EMITTED_HASHES), hashes_of(emitted_cases()));
  EXPECT_TRUE(found.empty()) << fmt::format(
      "{} emitted texts are not those that were committed:\n  {}\n"
      "To see the difference, write all texts here and in a build of the commit before, and compare the folders:\n"
      "  build/bin/emitted_texts write FOLDER\n"
      "If the change is meant, renew tests/emitted/hashes.txt and say in the commit message what changed:\n"
      "  build/bin/emitted_texts renew\n",
      found.size(), fmt::join(found, "\n  "));
}

// A program's text carries its schedule, so that no option has to be given again. A third of the cases is enough.
TEST(Emitted, TextsOfEarlierStagesNeedNoOptions) {
  std::mutex lock;
  std::vector<std::string> different;
  std::size_t taken = 0;
  std::vector<EmittedCase> third;
  for (std::size_t i = 0; const EmittedCase& of : emitted_cases())
    if (i++ % 3 == 0) third.push_back(of);
  for_each_text(third, [&](const EmittedCase& of, const std::string& text) {
    if (text.starts_with("refused: ") || is_token_kernel(of.source, of.config)) return;
    for (const Stage stage : {Stage::chunk, Stage::placed, Stage::warp}) {
      const bool same = lower_to(source_from(lower_to(of.source, stage, of.config)), Stage::cuda, {}) == text;
      const std::scoped_lock held(lock);
      ++taken;
      if (!same) different.push_back(of.name);
    }
  });
  EXPECT_GT(taken, 80U);
  EXPECT_TRUE(different.empty()) << fmt::format("{}", fmt::join(different, "\n"));
}

TEST(Emitted, ChangesAreTold) {
  const Hashes kept{{"a", "1"}, {"b", "2"}, {"c", "3"}}, made{{"a", "1"}, {"b", "4"}, {"d", "3"}};
  EXPECT_EQ(changes(kept, made), (std::vector<std::string>{"changed: b", "new:     d", "gone:    c"}));
}

TEST(Emitted, TextsAreTheSameEachTime) {
  std::vector<EmittedCase> cases = emitted_cases();
  cases.resize(8);
  EXPECT_EQ(hashes_of(cases), hashes_of(cases));
}

}  // namespace
}  // namespace wkvc::test
