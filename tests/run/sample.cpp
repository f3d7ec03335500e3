#include "tests/run/sample.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>

namespace wkvc::test {
namespace {

constexpr std::size_t kParts = 3;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != 0;
}

std::string drawn_seed() {
  const char* given = std::getenv("WKVC_TEST_SEED");
  const std::string seed = given != nullptr && *given != 0 ? given : std::to_string(std::random_device()());
  std::printf("A part of the sweep, WKVC_TEST_SEED=%s; all with WKVC_TEST_ALL=1\n", seed.c_str());
  return seed;
}

bool is_drawn(const std::string& text) { return std::hash<std::string>()(test_seed() + text) % kParts == 0; }

}  // namespace

const std::string& test_seed() {
  static const std::string seed = drawn_seed();
  return seed;
}

bool Sample::holds(const std::string& text) {
  static const bool all = is_set("WKVC_TEST_ALL");
  const bool first = seen_.empty();
  if (first) seen_.insert(text);
  return all || seen_.contains(text) || is_drawn(text);
}

std::vector<std::size_t> drawn(std::size_t count, std::size_t all, const char* takes_all) {
  std::vector<std::size_t> numbers(all), some;
  std::iota(numbers.begin(), numbers.end(), 0);
  if (is_set(takes_all)) return numbers;
  std::mt19937_64 random(std::hash<std::string>()(test_seed()));
  std::ranges::sample(numbers, std::back_inserter(some), static_cast<std::ptrdiff_t>(count), random);
  return some;
}

}  // namespace wkvc::test
