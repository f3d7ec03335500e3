#include "tests/run/sample.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

namespace wkvc::test {
namespace {

constexpr std::size_t kParts = 3;

bool takes_all() {
  const char* value = std::getenv("WKVC_TEST_ALL");
  return value != nullptr && *value != 0;
}

std::string drawn_seed() {
  const char* given = std::getenv("WKVC_TEST_SEED");
  const std::string seed = given != nullptr && *given != 0 ? given : std::to_string(std::random_device()());
  std::printf("A third of the texts, WKVC_TEST_SEED=%s; all with WKVC_TEST_ALL=1\n", seed.c_str());
  return seed;
}

bool is_drawn(const std::string& text) { return std::hash<std::string>()(test_seed() + text) % kParts == 0; }

}  // namespace

const std::string& test_seed() {
  static const std::string seed = drawn_seed();
  return seed;
}

bool Sample::holds(const std::string& text) {
  static const bool all = takes_all();
  const bool first = seen_.empty();
  if (first) seen_.insert(text);
  return all || seen_.contains(text) || is_drawn(text);
}

}  // namespace wkvc::test
