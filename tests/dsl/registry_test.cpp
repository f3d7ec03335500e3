#include "dsl/registry.h"

#include "tests/expect_error.h"

namespace wkvc::test {
namespace {

TEST(Registry, KnowsTheBuiltinRecurrences) {
  EXPECT_EQ(Registry::builtin().names(), (std::vector<std::string>{"rwkv6", "rwkv7", "rwkv7_logw"}));
}

TEST(Registry, TakesMore) {
  Registry registry = Registry::builtin();
  registry.add(recurrence("mine", [](Recurrence&) {}));
  EXPECT_EQ(registry.find("mine").name, "mine");
}

TEST(Registry, SuggestsTheClosestName) {
  const auto error = [](const char* name) { return user_error_of([name] { Registry::builtin().find(name); }); };
  expect_contains(error("rwkv8"), "no recurrence is called 'rwkv8'; known are rwkv6, rwkv7, rwkv7_logw; did you mean");
  expect_contains(error("rwkv7logw"), "did you mean 'rwkv7_logw'?");
  EXPECT_EQ(error("mamba").find("did you mean"), std::string::npos);
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
