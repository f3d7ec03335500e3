#include "autotune/lockfile/json_text.h"

#include <gtest/gtest.h>

namespace wkvc {
namespace {

using nlohmann::ordered_json;

TEST(JsonText, KeepsShortObjectsOnOneLine) {
  EXPECT_EQ(readable_json({{"b", {{"x", 1}, {"y", "two"}}}, {"a", {1, 2.5}}}),
            "{\n  \"b\": {\"x\": 1, \"y\": \"two\"},\n  \"a\": [1, 2.5]\n}\n");
  EXPECT_EQ(readable_json(ordered_json::object()), "{}\n");
}

TEST(JsonText, GivesEveryMemberOfALongOneALine) {
  const std::string text(60, 'x');
  EXPECT_EQ(readable_json({{"a", {{"x", text}, {"y", text}, {"z", ordered_json::array()}}}}),
            "{\n  \"a\": {\n    \"x\": \"" + text + "\",\n    \"y\": \"" + text + "\",\n    \"z\": []\n  }\n}\n");
}

TEST(JsonText, IsJsonWhateverTheTextsHold) {
  const ordered_json object{{"quote \"", "line\nbreak \\ \x01 ü"}};
  EXPECT_EQ(ordered_json::parse(readable_json(object)), object);
}

}  // namespace
}  // namespace wkvc
