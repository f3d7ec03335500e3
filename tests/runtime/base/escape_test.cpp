#include "runtime/base/escape.h"

#include <gtest/gtest.h>

namespace wkvc {
namespace {

TEST(Escape, SpellsControlCharactersOut) {
  EXPECT_EQ(escaped_name("S_0 \u03b1\u20ac\U0001f600 \\n"), "S_0 \u03b1\u20ac\U0001f600 \\n");
  EXPECT_EQ(escaped_name(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escaped_name("\x1b[2J\r\a\x7f"), "\\x1b[2J\\x0d\\x07\\x7f");
  EXPECT_EQ(escaped_name("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(escaped_text("a\nb\tc\x1b"), "a\nb\tc\\x1b");
  EXPECT_EQ(escaped_name("\u009b31m"), "\\xc2\\x9b31m");  // begins a sequence as ESC [ does
  EXPECT_EQ(escaped_name("\u00a0"), "\u00a0");
}

TEST(Escape, SpellsBytesThatAreNoUtf8) {
  EXPECT_EQ(escaped_name("\x9b"
                         "31m"),
            "\\x9b31m");
  EXPECT_EQ(escaped_name("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(escaped_name("\xe2\x1b"
                         "b"),
            "\\xe2\\x1bb");
  EXPECT_EQ(escaped_name("\xc0\x9b"), "\\xc0\\x9b");  // too long a spelling
  EXPECT_EQ(escaped_name("\xff"), "\\xff");
}

}  // namespace
}  // namespace wkvc
