// What many threads ask for at once is made once.
#include "runtime/cache/once_map.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "tests/runtime/cache/cache_test.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

constexpr int many = 300;

// Runs it in many threads that start it together.
template <class Action>
void in_many_threads(const Action& action) {
  std::latch all_here(many);
  std::vector<std::thread> threads;
  threads.reserve(many);
  for (int i = 0; i < many; ++i) {
    threads.emplace_back([&, i] {
      all_here.arrive_and_wait();
      action(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Long enough for others to ask meanwhile.
void take_a_while() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

TEST(OnceMaps, MakeAKeyOnce) {
  OnceMap<std::string> map;
  std::atomic<int> made = 0, right = 0;
  in_many_threads([&](int i) {
    const std::string key = std::to_string(i % 3);
    const auto value = map.find_or_make(key, [&] {
      ++made;
      take_a_while();
      return std::make_shared<const std::string>("of " + key);
    });
    if (*value == "of " + key) ++right;
  });
  EXPECT_EQ(made, 3);
  EXPECT_EQ(right, many);
}

TEST(OnceMaps, DoNotLetOneKeyWaitForAnother) {
  OnceMap<int> map;
  const auto outer =
      map.find_or_make("a", [&] { return map.find_or_make("b", [] { return std::make_shared<const int>(5); }); });
  EXPECT_EQ(*outer, 5);
}

TEST(OnceMaps, PassFailuresToAllWhoWaitAndForgetThem) {
  OnceMap<int> map;
  std::atomic<int> attempts = 0, failures = 0;
  in_many_threads([&](int) {
    try {
      map.find_or_make("key", [&]() -> std::shared_ptr<const int> {
        ++attempts;
        take_a_while();
        user_error("this attempt fails");
      });
    } catch (const UserError& error) {
      if (std::string(error.what()) == "this attempt fails") ++failures;
    }
  });
  EXPECT_EQ(failures, many);
  EXPECT_LT(attempts, many);
  EXPECT_EQ(*map.find_or_make("key", [] { return std::make_shared<const int>(1); }), 1);
  EXPECT_EQ(*map.find_or_make("key", [] { return std::make_shared<const int>(2); }), 1);
}

class CacheThreads : public CacheTest {};

TEST_F(CacheThreads, MakeAnEntryOnce) {
  DiskCache cache(settings);
  const CacheKey key = key_of("x");
  const std::string payload = random_bytes(200'000);
  std::atomic<int> count = 0, right = 0;
  in_many_threads([&](int) {
    const std::string found = cache.find_or_make(key, [&] {
      ++count;
      take_a_while();
      return payload;
    });
    if (found == payload) ++right;
  });
  EXPECT_EQ(count, 1);
  EXPECT_EQ(right, many);
  EXPECT_EQ(find(key), payload);
}

// Of one directory, as several processes would.
TEST_F(CacheThreads, MakeAnEntryOnceWithCachesOfTheirOwn) {
  const CacheKey key = key_of("x");
  std::atomic<int> count = 0, right = 0;
  in_many_threads([&](int) {
    const std::string found = DiskCache(settings).find_or_make(key, [&] {
      ++count;
      take_a_while();
      return std::string("payload");
    });
    if (found == "payload") ++right;
  });
  EXPECT_EQ(count, 1);
  EXPECT_EQ(right, many);
  EXPECT_THAT(warnings, ::testing::IsEmpty());
}

TEST_F(CacheThreads, WithoutADirectoryMakeItOnce) {
  settings.directory = "/dev/null/nowhere";
  DiskCache cache(settings);
  std::atomic<int> count = 0;
  in_many_threads([&](int) {
    cache.find_or_make(key_of("x"), [&] {
      ++count;
      take_a_while();
      return std::string("payload");
    });
  });
  EXPECT_EQ(count, 1);
}

// While others store and entries are driven out.
TEST_F(CacheThreads, FindWhatTheyStoredOrNothing) {
  settings.max_bytes = 20'000;
  const std::string payload = random_bytes(3000);
  const DiskCache cache(settings);
  std::atomic<int> wrong = 0;
  in_many_threads([&](int i) {
    const CacheKey key = key_of(std::to_string(i % 10));
    cache.store(key, payload + std::to_string(i % 10));
    const auto found = cache.find(key);
    if (found && *found != payload + std::to_string(i % 10)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(warnings, ::testing::IsEmpty());
}

}  // namespace
}  // namespace wkvc
