// Which configurations are tried, and when each is compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "autotune/lockfile/config_json.h"
#include "autotune/search/order.h"
#include "autotune/search/trial_queue.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

Config with_chunk(int chunk) { return Config{.chunk = chunk}; }

std::vector<Config> chunks(int count) {
  std::vector<Config> configs;
  for (int n = 1; n <= count; ++n) configs.push_back(with_chunk(16 * n));
  return configs;
}

TEST(Order, HasTheFirstOnesFirstAndEachOnce) {
  const std::vector<Config> order = in_turn({with_chunk(64), with_chunk(16), with_chunk(64)}, chunks(10));
  std::vector<int> found;
  for (const Config& config : order) found.push_back(config.chunk / 16);
  EXPECT_EQ(found.size(), 10U);
  EXPECT_EQ(found[0], 4);
  EXPECT_EQ(found[1], 1);
  EXPECT_THAT(found, ::testing::UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(in_turn({with_chunk(16)}, {}).size(), 1U);
}

// Kernels of chunks that are a multiple of 32.
Trial every_other(const Config& config) {
  Trial trial;
  trial.config = config;
  if (config.chunk % 32 != 0) trial.fault = "odd";
  return trial;
}

constexpr auto always = [](std::size_t) { return true; };

TEST(Queue, CompilesUntilEnoughHaveKernels) {
  for (const unsigned threads : {1U, 4U}) {
    TrialQueue queue(every_other, chunks(9), threads);
    std::vector<Trial> batch = queue.next(1, always);
    EXPECT_TRUE(batch.back().fault.empty());
    EXPECT_EQ(std::ranges::count(batch, std::string(), &Trial::fault), 1);
    std::size_t total = batch.size();
    while (!queue.is_empty()) total += queue.next(3, always).size();
    EXPECT_EQ(total, 9U);
    EXPECT_EQ(queue.begun(), 9U);
  }
}

// As many run at once as are wanted, and no more.
TEST(Queue, CompilesNoMoreThanAreWanted) {
  std::atomic<int> begun = 0;
  TrialQueue queue(
      [&](const Config& config) {
        ++begun;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        Trial trial;
        trial.config = config;
        return trial;
      },
      chunks(9), 8);
  EXPECT_EQ(queue.next(3, always).size(), 3U);
  EXPECT_EQ(begun, 3);
}

TEST(Queue, StopsWhereItIsTold) {
  TrialQueue queue(every_other, chunks(9), 2);
  EXPECT_EQ(queue.next(9, [](std::size_t count) { return count < 4; }).size(), 4U);
  EXPECT_EQ(queue.next(9, [](std::size_t) { return false; }).size(), 1U);  // the first is not asked about
}

TEST(Queue, PassesOnWhatIsThrown) {
  TrialQueue queue([](const Config&) -> Trial { user_error("no compiler"); }, chunks(3), 2);
  EXPECT_THROW(queue.next(2, always), UserError);
}

}  // namespace
}  // namespace wkvc
