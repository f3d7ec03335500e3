// What a browser makes of a report.
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <ranges>
#include <string>
#include <string_view>

#include "autotune/report/html_report.h"
#include "runtime/base/files.h"
#include "runtime/base/process.h"
#include "runtime/base/temporary_directory.h"
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

// The page, with its title replaced by what the browser counts in it.
std::string with_counts(std::string page) {
  const std::string script =
      "<script>const number = x => document.querySelectorAll(x).length; document.title = ["
      "number('svg rect.mark'), number('svg circle.mark'), number('.mark > title'), number('tr.candidate')].join(' ');"
      "</script>\n";
  return page.insert(page.find("</body>"), script);
}

TEST(Browsers, ShowEveryMarkOfAReport) {
  const std::string program = browser();
  if (program.empty()) GTEST_SKIP() << "no chromium, chromium-browser or google-chrome on PATH";
  const ShapeReport report = sample_report();
  const std::size_t bars = timed(report).size();
  std::size_t dots = bars;  // of errors, then of memory
  for (const Candidate& it : report.candidates) dots += it.use ? 1 : 0;
  const std::string page = with_counts(html_report(sample_facts(), std::array{report}));
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "report.html";
  write_file_atomically(path, std::array{std::string_view(page)});
  const ProcessResult result =
      run_process({program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-background-networking", "--enable-logging=stderr", "--dump-dom",
                   "--user-data-dir=" + (directory.path() / "profile").string(), "file://" + path.string()});
  ASSERT_TRUE(result.succeeded) << result.output;
  const std::string expected =
      fmt::format("<title>{} {} {} {}</title>", bars, dots, bars + dots, report.candidates.size());
  EXPECT_NE(result.output.find(expected), std::string::npos) << expected << "\n" << result.output.substr(0, 2000);
  EXPECT_EQ(result.output.find("CONSOLE"), std::string::npos) << result.output.substr(0, 2000);  // errors and warnings
}

}  // namespace
}  // namespace wkvc
