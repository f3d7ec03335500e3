// What a browser makes of a report.
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <ranges>
#include <string>
#include <string_view>

#include "autotune/html_report.h"
#include "runtime/files.h"
#include "runtime/process.h"
#include "tests/autotune/samples.h"

namespace wkvc {
namespace {

namespace fs = std::filesystem;

// The first of some browsers that is on PATH; empty when there is none.
std::string browser() {
  const char* path = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    for (const auto folder : std::views::split(std::string_view(path == nullptr ? "" : path), ':')) {
      const fs::path program = fs::path(std::string_view(folder.begin(), folder.end())) / name;
      if (::access(program.c_str(), X_OK) == 0) return program;
    }
  }
  return "";
}

// A page that counts what the browser found of the report and says what went wrong.
std::string with_counts(std::string page) {
  const std::string script =
      "<script>const number = x => document.querySelectorAll(x).length; document.title = ["
      "number('svg rect.mark'), number('svg circle.mark'), number('.mark > title'), number('tr.candidate'),"
      "number('parsererror')].join(' ');</script>\n";
  return page.insert(page.find("</body>"), script);
}

TEST(Browsers, ShowEveryMarkOfAReport) {
  const std::string program = browser();
  if (program.empty()) GTEST_SKIP() << "no chromium, chromium-browser or google-chrome on PATH";
  const ShapeReport report = sample_report();
  std::size_t dots = timed(report).size();  // of errors, then of memory
  for (const Candidate& it : report.candidates) dots += it.use ? 1 : 0;
  const std::string expected = fmt::format("<title>{} {} {} {} 0</title>", timed(report).size(), dots,
                                           timed(report).size() + dots, report.candidates.size());
  const std::string page = with_counts(html_report(sample_facts(), std::array{report}));
  const TemporaryDirectory directory;
  // As HTML and, which stops at the first error, as XML.
  for (const char* name : {"report.html", "report.xhtml"}) {
    const fs::path path = directory.path() / name;
    const std::string text = name == std::string("report.html")
                                 ? page
                                 : std::string(page)
                                       .replace(page.find("<script>"), 8, "<script>//<![CDATA[\n")
                                       .replace(page.find("</script>") + 12, 9, "//]]></script>");
    write_file_atomically(path, std::array{std::string_view(text)});
    const ProcessResult result =
        run_process({program, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
                     "--user-data-dir=" + (directory.path() / "profile").string(), "file://" + path.string()});
    ASSERT_TRUE(result.succeeded) << result.output;
    EXPECT_NE(result.output.find(expected), std::string::npos) << expected << "\n" << result.output.substr(0, 2000);
    EXPECT_EQ(result.output.find("CONSOLE"), std::string::npos) << result.output.substr(0, 2000);
  }
}

}  // namespace
}  // namespace wkvc
