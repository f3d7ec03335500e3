#include "autotune/report/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "autotune/lockfile/config_json.h"
#include "autotune/report/charts.h"
#include "autotune/report/legend.h"
#include "runtime/base/files.h"
#include "runtime/base/process.h"
#include "runtime/base/temporary_directory.h"
#include "tests/autotune/samples.h"
#include "tests/count.h"

namespace wkvc {
namespace {

using test::count;
using ::testing::HasSubstr;
using ::testing::Not;

std::string page(const ShapeReport& report) { return html_report(sample_facts(), std::array{report}); }

void expect_well_formed(const std::string& text) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "report.html";
  write_file_atomically(path, std::array{std::string_view(text)});
  const ProcessResult result = run_process(
      {"python3", "-c", "import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])", path.string()});
  EXPECT_TRUE(result.succeeded) << result.output;
}

std::size_t with_use(const ShapeReport& report) {
  return static_cast<std::size_t>(
      std::ranges::count_if(report.candidates, [](const Candidate& it) { return it.use.has_value(); }));
}

TEST(HtmlReports, AreWellFormed) {
  expect_well_formed(page(sample_report()));
  expect_well_formed(page(sample_report(120)));
  expect_well_formed(html_report(sample_facts(), {}));
}

TEST(HtmlReports, HoldEveryCandidate) {
  for (const int candidates : {1, 2, 80, 120}) {
    const ShapeReport report = sample_report(candidates);
    const std::string text = page(report);
    EXPECT_EQ(count(text, "<tr class=\"candidate\">"), report.candidates.size());
    for (const Candidate& it : report.candidates) EXPECT_THAT(text, HasSubstr(config_label(it.config) + "</th>"));
    EXPECT_EQ(count(time_chart(report), "class=\"mark "), timed(report).size());
    EXPECT_EQ(count(error_chart(report), "class=\"mark "), timed(report).size());
    EXPECT_EQ(count(memory_chart(report), "class=\"mark "), with_use(report));
    EXPECT_EQ(count(text, "<li>"), not_timed(report).size());
    EXPECT_EQ(count(text, "class=\"mark "), count(text, "</title></rect>") + count(text, "</title></circle>"));
  }
}

TEST(HtmlReports, NeedNothingElse) {
  const std::string text = page(sample_report());
  for (const char* part : {"<script", "<link", "<img", "src=", "url(", "@import", "http:", "https:"}) {
    std::string rest = text;
    for (const std::string name : {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"}) {
      for (std::size_t at = 0; (at = rest.find(name)) != std::string::npos;) rest.erase(at, name.size());
    }
    EXPECT_EQ(count(rest, part), 0U) << part;
  }
  EXPECT_THAT(text, HasSubstr("prefers-color-scheme: dark"));
}

TEST(HtmlReports, EscapeWhatTheyAreGiven) {
  ShapeReport report = sample_report(20);
  RunFacts facts = sample_facts();
  facts.title = facts.gpu.name = facts.evidence.driver = "<script>alert(1)</script> & \"'\x02";
  for (Candidate& it : report.candidates) {
    it.config.mma = "<script>";
    it.reason += " <b>&\x01";
    it.errors = {{"<i>\"", {1e-3, 2e-3}}};
  }
  report.shape_class.op = report.shape_class.accuracy = "<script>";
  report.winner = report.untuned = report.candidates[0].config;
  const std::string text = html_report(facts, std::array{report});
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, HasSubstr("mma &lt;script&gt;"));
  expect_well_formed(text);
}

TEST(HtmlReports, MarkTheWinnerAndTheDefault) {
  const ShapeReport report = sample_report();
  EXPECT_EQ(count(time_chart(report), "class=\"mark winner\""), 1U);
  EXPECT_EQ(count(time_chart(report), "class=\"mark default\""), 1U);
  EXPECT_EQ(count(error_chart(report), "★ "), 1U);
  EXPECT_EQ(count(error_chart(report), "◆ "), 1U);
  EXPECT_EQ(count(memory_chart(report), "ring-winner"), 1U);
  EXPECT_EQ(count(memory_chart(report), "ring-default"), 1U);
  ShapeReport same = report;
  same.untuned = same.winner;
  EXPECT_EQ(count(time_chart(same), "★◆ "), 1U);
}

TEST(HtmlReports, ManageWithoutWhatIsNotKnown) {
  ShapeReport report = sample_report();
  for (Candidate& it : report.candidates) {
    it.use.reset();
    it.errors.clear();
    it.predicted_ms.reset();
  }
  EXPECT_EQ(error_chart(report), "");
  EXPECT_EQ(memory_chart(report), "");
  expect_well_formed(page(report));
  std::erase_if(report.candidates, [](const Candidate& it) { return it.outcome == Outcome::timed; });
  report.winner.reset();
  EXPECT_EQ(time_chart(report), "");
  EXPECT_THAT(page(report), HasSubstr("No configuration won."));
}

// As tune makes it on the host target.
TEST(HtmlReports, SayThatThereWasNoGpu) {
  ShapeReport report = sample_report();
  for (Candidate& it : report.candidates) {
    it.outcome = Outcome::skipped;
    it.ms.reset();
  }
  report.winner.reset();
  report.copy_ms = 0;
  RunFacts facts = sample_facts();
  facts.gpu.name = facts.evidence.driver = "";
  const std::string text = html_report(facts, std::array{report});
  EXPECT_THAT(text, HasSubstr("<h1>rwkv7 both, without a GPU</h1>"));
  EXPECT_THAT(text, HasSubstr("<dt>GPU</dt><dd>there was none: nothing was measured</dd>"));
  EXPECT_THAT(text, HasSubstr("<dt>assumed</dt><dd>a device like an H200, sm_90a, 132 SMs</dd>"));
  for (const char* part : {"<dd></dd>", "<dd>,", "<dt>measured", "<dt>driver"}) EXPECT_THAT(text, Not(HasSubstr(part)));
  expect_well_formed(text);
}

TEST(HtmlReports, ExplainTheMarksThatAreDrawn) {
  const auto has_key = [](const std::string& legend, const std::string& kind) {
    return legend.find("class=\"key " + kind + "\"") != std::string::npos;
  };
  ShapeReport report = sample_report();
  for (const char* kind : {"winner", "default", "predicted"})
    EXPECT_TRUE(has_key(time_legend(time_chart(report)), kind));
  EXPECT_FALSE(has_key(error_legend(error_chart(report)), "rejected"));  // they have no time
  for (const char* kind : {"shade0", "shade4", "rejected", "ring-winner", "ring-default"}) {
    EXPECT_TRUE(has_key(memory_legend(memory_chart(report)), kind)) << kind;
  }
  report.untuned = report.winner;
  EXPECT_THAT(time_legend(time_chart(report)), HasSubstr("★◆ winner"));
  EXPECT_THAT(time_legend(time_chart(report)), Not(HasSubstr("★ winner")));
  report.untuned.reset();
  for (Candidate& it : report.candidates) it.predicted_ms.reset();
  const std::string times = time_legend(time_chart(report)), memory = memory_legend(memory_chart(report));
  EXPECT_TRUE(has_key(times, "winner"));
  for (const char* kind : {"default", "predicted"}) EXPECT_FALSE(has_key(times, kind)) << kind;
  EXPECT_FALSE(has_key(memory, "ring-default"));
  for (Candidate& it : report.candidates) it.outcome = Outcome::skipped;
  EXPECT_THAT(memory_legend(memory_chart(report)), Not(HasSubstr("shade")));
}

TEST(HtmlReports, LeaveOutErrorsThatHaveNoPlace) {
  ShapeReport report = sample_report(3);
  report.candidates[0].errors["o"].error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(count(error_chart(report), "class=\"mark "), timed(report).size() - 1);
  EXPECT_THAT(page(report), HasSubstr(">nan<"));
}

TEST(HtmlReports, DotsOfEqualMemoryAndBlocksAreAllSeen) {
  ShapeReport report = sample_report();
  for (Candidate& it : report.candidates) it.use = KernelUse{98304, 168, 0, 2};
  const std::string text = memory_chart(report);
  std::set<std::string> places;
  for (std::size_t at = text.find("<circle"); at != std::string::npos; at = text.find("<circle", at + 1)) {
    places.insert(text.substr(at, text.find(" r=", at) - at));
  }
  EXPECT_EQ(places.size(), report.candidates.size());
}

}  // namespace
}  // namespace wkvc
