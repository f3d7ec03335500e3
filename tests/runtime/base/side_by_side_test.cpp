#include "runtime/base/side_by_side.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

namespace wkvc {
namespace {

void expect_each_once() {
  std::array<std::atomic<int>, 100> calls{};
  side_by_side(calls.size(), 4, [&](std::size_t i) { ++calls.at(i); });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
}

TEST(SideBySide, CallsEachOnce) {
  expect_each_once();
  side_by_side(0, 4, [](std::size_t) { FAIL(); });
  int calls = 0;
  side_by_side(3, 0, [&](std::size_t) { ++calls; });
  EXPECT_EQ(calls, 3);
}

TEST(SideBySide, RunsSideBySide) {
  std::atomic<int> waiting = 0;
  side_by_side(2, 2, [&](std::size_t) {
    ++waiting;
    while (waiting < 2) std::this_thread::yield();
  });
  EXPECT_EQ(waiting, 2);
}

TEST(SideBySide, TheFirstExceptionEndsIt) {
  std::atomic<int> calls = 0;
  const auto work = [&](std::size_t i) {
    ++calls;
    if (i == 1) throw std::runtime_error("one");
  };
  EXPECT_THROW(side_by_side(1'000'000, 2, work), std::runtime_error);
  EXPECT_LT(calls, 1'000'000);
}

// Stacks of 64 TiB: no thread is to be had.
TEST(SideBySide, DoesWithoutThreads) {
  pthread_attr_t usual{}, huge{};
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ::pthread_attr_init(&huge);
  ::pthread_attr_setstacksize(&huge, std::size_t{1} << 46U);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  expect_each_once();
  EXPECT_EQ(::pthread_setattr_default_np(&usual), 0);
}

}  // namespace
}  // namespace wkvc
