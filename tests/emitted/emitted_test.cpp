// Emitted texts are those that were committed. A refactoring leaves all of them; a change of texts renews the hashes.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

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
