#include "dsl/registry.h"

#include <algorithm>

#include "tests/expect_error.h"

namespace wkvc::test {
namespace {

TEST(Registry, KnowsTheBuiltinRecurrences) {
  const std::vector<std::string> names = Registry::builtin().names();
  for (const char* name : {"rwkv6", "rwkv7", "rwkv7_logw", "gated_delta_net", "kda", "mamba2"})
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
}

TEST(Registry, TakesMore) {
  Registry registry = Registry::builtin();
  registry.add(recurrence("mine", [](Recurrence&) {}));
  EXPECT_EQ(registry.find("mine").name, "mine");
}

TEST(Registry, SuggestsTheClosestName) {
  const auto error = [](const char* name) { return user_error_of([name] { Registry::builtin().find(name); }); };
  expect_contains(error("rwkv8"), "no recurrence is called 'rwkv8'; known are comba, ");
  expect_contains(error("rwkv7logw"), "did you mean 'rwkv7_logw'?");
  EXPECT_EQ(error("nothing_like_it").find("did you mean"), std::string::npos);
}

TEST(Registry, RefusesNames) {
  Registry registry = Registry::builtin();
  const auto error = [&](const char* name) {
    return user_error_of([&] { registry.add(recurrence(name, [](Recurrence&) {})); });
  };
  expect_contains(error("rwkv7"), "recurrence 'rwkv7' is defined already, at ");
  expect_contains(error("class"), "name 'class' is a C++ keyword");
}

}  // namespace
}  // namespace wkvc::test
