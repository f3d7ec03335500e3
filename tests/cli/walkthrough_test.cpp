// docs/walkthrough.md quotes a kernel: each quoted line is one of the emitted text, in the text's order.
#include <algorithm>
#include <sstream>

#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

using Lines = std::vector<std::string>;

std::string trimmed(const std::string& line) {
  const auto first = line.find_first_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(' ') + 1 - first);
}

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(trimmed(line));
  return lines;
}

// The lines of each block of CUDA C++ in a Markdown text.
std::vector<Lines> quotes_in(const std::string& markdown) {
  std::vector<Lines> quotes;
  bool inside = false;
  for (const std::string& line : lines_of(markdown)) {
    const bool begins = !inside && line == "```cuda";
    if (begins)
      quotes.emplace_back();
    else if (inside && line != "```")
      quotes.back().push_back(line);
    inside = begins || (inside && line != "```");
  }
  return quotes;
}

class Walkthrough : public CommandTest {};

TEST_F(Walkthrough, QuotesTheKernel) {
  const Outcome emitted = wkvc({"emit", "rwkv7", "--stage", "cuda"});
  ASSERT_EQ(emitted.status, 0) << emitted.err;
  const Lines kernel = lines_of(emitted.out);
  const auto quotes = quotes_in(contents_of(source_directory / ".." / "docs" / "walkthrough.md"));
  ASSERT_GE(quotes.size(), 8U);
  for (const Lines& quote : quotes) {
    auto at = kernel.begin();
    for (const std::string& line : quote) {
      at = std::find(at, kernel.end(), line);
      ASSERT_NE(at, kernel.end()) << "docs/walkthrough.md quotes a line that is not in the kernel there: " << line;
      ++at;
    }
  }
}

}  // namespace
}  // namespace wkvc::test
