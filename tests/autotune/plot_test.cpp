#include "autotune/report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace wkvc {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Plots, ScalesHoldAllValues) {
  for (const std::vector<double>& values :
       {std::vector<double>{1, 2, 3}, {4.45}, {0}, {0, 0}, {1e-7, 1e-3}, {0, 1e6}, {5, 5.0001}}) {
    const Scale scale = scale_for(values, 100, 500);
    for (const double value : values) {
      EXPECT_GE(scale.at(value), 100) << value;
      EXPECT_LE(scale.at(value), 500) << value;
    }
    EXPECT_DOUBLE_EQ(scale.at(scale.low), 100);
    EXPECT_DOUBLE_EQ(scale.at(scale.high), 500);
    EXPECT_GE(scale.low, 0);
  }
  EXPECT_TRUE(scale_for({1e-7, 1e-3}, 0, 1).logarithmic);
  EXPECT_FALSE(scale_for({1, 10}, 0, 1).logarithmic);
  EXPECT_FALSE(scale_for({0, 10}, 0, 1).logarithmic);
}

TEST(Plots, TicksAreRoundAndInside) {
  EXPECT_THAT(ticks({0, 10, 0, 1, false}, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ticks({4.3, 5.1, 0, 1, false}, 4),
              ElementsAre(DoubleNear(4.4, 1e-9), DoubleNear(4.6, 1e-9), DoubleNear(4.8, 1e-9), DoubleNear(5, 1e-9)));
  EXPECT_THAT(ticks({0.9, 25, 0, 1, true}, 6), ElementsAre(1, 2, 5, 10, 20));
  EXPECT_EQ(ticks({1e-8, 1, 0, 1, true}, 6).size(), 9U);  // decades
}

TEST(Plots, NumbersAreShort) {
  EXPECT_EQ(number_text(4.451234), "4.451");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(12345.6), "1.235e4");
  EXPECT_EQ(number_text(1.68e-3), "1.68e-3");
  EXPECT_EQ(number_text(1e-5), "1e-5");
  EXPECT_EQ(number_text(2e6), "2e6");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(time_text(4.4), "4.400");
  EXPECT_EQ(time_text(0.0634128), "0.06341");
}

TEST(Svgs, EscapeTexts) {
  EXPECT_EQ(escaped("<a b=\"c\">'&'</a>"), "&lt;a b=&quot;c&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escaped("tab\tnul\x01 ü"), "tab\tnul\xef\xbf\xbd ü");
  Svg svg(10, 10, "<title>");
  svg.dot(1, 2, 3, "plain", "a < b");
  EXPECT_THAT(svg.finished(), HasSubstr("<title>&lt;title&gt;</title>"));
  EXPECT_THAT(
      svg.finished(),
      HasSubstr("<circle cx=\"1.0\" cy=\"2.0\" r=\"3.0\" class=\"mark plain\"><title>a &lt; b</title></circle>"));
}

}  // namespace
}  // namespace wkvc
