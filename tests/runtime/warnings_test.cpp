#include "runtime/warnings.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace wkvc {
namespace {

TEST(Warnings, AreToldOnceToWhoListens) {
  std::vector<std::string> told;
  warn_once("a trouble", "nobody listens");
  on_warning([&](std::string_view text) { told.emplace_back(text); });
  warn_once("a trouble", "first");
  warn_once("a trouble", "second");
  warn_once("another trouble", "third");
  on_warning({});
  warn_once("a third trouble", "nobody listens");
  EXPECT_THAT(told, ::testing::ElementsAre("first", "third"));
}

TEST(Warnings, DoNotFailWhereTheHandlerDoes) {
  on_warning([](std::string_view) { throw std::runtime_error("no"); });
  EXPECT_NO_THROW(warn_once("a fourth trouble", "text"));
  on_warning({});
}

}  // namespace
}  // namespace wkvc
