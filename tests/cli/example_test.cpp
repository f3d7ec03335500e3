// A recurrence of one's own, as README.md shows it: the command with one more operator.
#include <algorithm>
#include <sstream>

#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

using Example = CommandTest;

TEST_F(Example, ChecksForwardAndBackward) {
  for (const char* pass : {"forward", "both"}) {
    const Outcome outcome =
        finish(start(WKVC_EXAMPLE, {"check", "own_delta_net", "--device", "cpu", "--shape", "1,33,2", "--pass", pass}));
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("own_delta_net on cpu")) << outcome.out;
    EXPECT_EQ(outcome.out.find("dgate") != std::string::npos, pass == std::string("both")) << outcome.out;
  }
}

// What it prints is taken by the command that does not know it.
TEST_F(Example, PrintsStages) {
  const Outcome printed = finish(start(WKVC_EXAMPLE, {"emit", "own_delta_net", "--stage", "rec"}));
  ASSERT_EQ(printed.status, 0) << printed.err;
  const std::string source = file("own_delta_net.mlir", printed.out);
  const Outcome emitted = wkvc({"emit", "--source", source, "--stage", "cuda"});
  EXPECT_EQ(emitted.status, 0) << emitted.err;
  EXPECT_NE(emitted.out.find("own_delta_net_forward"), std::string::npos);
}

// Lines without the spaces in front of them.
std::string unindented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    result += line.substr(std::min(line.find_first_not_of(' '), line.size())) + '\n';
  return result;
}

TEST_F(Example, ReadmeShowsWhatIsThere) {
  const std::filesystem::path root = source_directory.parent_path();
  const std::string code = unindented(contents_of(root / "dsl" / "operators" / "rwkv7.cpp")) +
                           unindented(contents_of(root / "examples" / "own_delta_net.cpp"));
  std::string readme = contents_of(root / "README.md");
  int blocks = 0;
  const std::string fence = "```cpp\n";
  for (std::size_t at = 0; (at = readme.find(fence, at)) != std::string::npos; ++blocks) {
    at += fence.size();
    const std::string block = unindented(readme.substr(at, readme.find("```", at) - at));
    EXPECT_NE(code.find(block), std::string::npos) << block;
  }
  EXPECT_EQ(blocks, 2);
}

}  // namespace
}  // namespace wkvc::test
