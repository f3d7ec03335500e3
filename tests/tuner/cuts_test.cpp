#include "autotune/preferences/cuts.h"

#include <gtest/gtest.h>

#include "autotune/search/space.h"

namespace wkvc {
namespace {

TEST(Cuts, RunAtOnce) {
  EXPECT_EQ((Cuts{8192, 12, 132}.at_once(64)), 11);
  EXPECT_EQ((Cuts{8192, 12, 132}.at_once(64, 2)), 5);
  EXPECT_EQ((Cuts{1000, 12, 132}.at_once(128)), 7);
  EXPECT_EQ((Cuts{100, 1, 132}.at_once(128)), 1);
  EXPECT_EQ((Cuts{8192, 200, 132}.at_once(1)), 1);
  EXPECT_EQ((Cuts{1 << 20, 1, 132}.at_once(1)), most_segments);
}

TEST(Cuts, TakeLeastTimeAtASquareRoot) {
  EXPECT_EQ((Cuts{8192, 4, 132}.best(132, 32)), 16);
  EXPECT_EQ((Cuts{8191, 4, 132}.best(132, 32)), 15);
  EXPECT_EQ((Cuts{8192, 12, 132}.best(132, 32)), 11);
  EXPECT_EQ((Cuts{8192, 12, 132}.best(264, 32)), 16);
}

TEST(Cuts, GiveMostMultiprocessorsTwoBlocksOrNone) {
  EXPECT_EQ((Cuts{8192, 24, 132}.best_of_two(20)), 11);
  EXPECT_EQ((Cuts{8192, 12, 132}.best_of_two(20)), 20);
  EXPECT_EQ((Cuts{4096, 12, 132}.best_of_two(20)), 11);  // 14 segments would share 36 multiprocessors
}

TEST(Cuts, AreLikelyPowersOfTwo) {
  EXPECT_EQ((Cuts{8192, 12, 132}.likely(4, 256)), 32);
  EXPECT_EQ((Cuts{8192, 12, 132}.likely(1, 256)), 8);
  EXPECT_EQ((Cuts{2048, 12, 132}.likely(4, 256)), 8);
  EXPECT_EQ((Cuts{2048, 12, 132}.likely(4, 1)), 16);  // no segment of fewer than 128 tokens
}

TEST(Cuts, AreEvenedOut) {
  const auto evened = [](std::int64_t tokens, int segments, int unit, int strips) {
    return Cuts{tokens, 1, 132}.evened(segments, unit, strips);
  };
  EXPECT_EQ(evened(994, 13, 64, 2), 8);  // 16 units: the longest segment has two in either case
  EXPECT_EQ(evened(846, 11, 64, 2), 7);
  EXPECT_EQ(evened(846, 11, 64, 8), 8);
  EXPECT_EQ(evened(846, 8, 64, 2), 8);  // 7 are hardly fewer
  EXPECT_EQ(evened(420, 5, 64, 8), 5);  // strips of the state
  EXPECT_EQ(evened(420, 5, 64, 4), 4);
  EXPECT_EQ(evened(551, 4, 64, 2), 4);
  EXPECT_EQ(evened(1024, 8, 16, 8), 8);
  EXPECT_EQ(evened(100, 64, 16, 2), 7);
  EXPECT_EQ(evened(1, 64, 16, 8), 1);   // none is empty
  EXPECT_EQ(evened(0, 64, 16, 8), 64);  // no tokens: as asked for
}

}  // namespace
}  // namespace wkvc
