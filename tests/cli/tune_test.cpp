// wkvc tune where there is no GPU.
#include <cstdlib>

#include "tests/cli/command.h"

namespace wkvc::test {
namespace {

using Tuning = CommandTest;

TEST_F(Tuning, WithoutAGpuRanksEachShapeOnce) {
  const Outcome outcome = wkvc({"tune", "rwkv7", "--shapes", "1,64,1", "1,32,1", "1,64,1", "--head", "16", "--io",
                                "f32", "--mma", "f32", "--chunk", "16", "--blocks", "1", "--report", "report.html"},
                               [] { setenv("CUDA_VISIBLE_DEVICES", "", 1); });
  ASSERT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("nothing was measured, and wkvc.lock.json was not written"), std::string::npos)
      << outcome.err;
  const std::size_t first = outcome.out.find("shape 1,64,1: 0 measured");
  EXPECT_NE(first, std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("shape 1,64,1", first + 1), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("shape 1,32,1"), std::string::npos) << outcome.out;
  const std::string report = contents_of(directory() / "report.html");
  EXPECT_NE(report.find("<h1>rwkv7 forward, without a GPU</h1>"), std::string::npos);
  EXPECT_NE(report.find("nothing was measured"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory() / "wkvc.lock.json"));
}

// The line of a size's default, which the budget does not change.
std::string default_line(const Outcome& outcome) {
  const std::size_t begin = outcome.out.find("  default");
  return begin == std::string::npos ? "" : outcome.out.substr(begin, outcome.out.find('\n', begin) - begin);
}

TEST_F(Tuning, WithoutAGpuNamesTheSameSettingsForEveryBudget) {
  std::vector<std::string> lines;
  for (const char* budget : {"0.01s", "4s"}) {
    const Outcome outcome = wkvc({"tune", "rwkv7", "--shapes", "1,640,1", "--head", "16", "--budget", budget},
                                 [] { setenv("CUDA_VISIBLE_DEVICES", "", 1); });
    ASSERT_EQ(outcome.status, 1) << outcome.err;
    lines.push_back(default_line(outcome));
    EXPECT_NE(lines.back().find(" ms by the model"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("fastest"), std::string::npos) << outcome.out;
  }
  EXPECT_EQ(lines[0], lines[1]);
}

TEST_F(Tuning, InputsHaveToBeThere) {
  expect_mistake({"tune", "rwkv7", "--shapes", "1,64,1", "--input", "none.safetensors"}, "none.safetensors");
  const std::string input = file("in.safetensors", "");
  expect_mistake({"tune", "rwkv7", "--shapes", "1,64,1", "--input", input, "--report", input}, "the file that is read");
}

TEST_F(Tuning, HasNothingToTuneOfSingleTokens) {
  expect_mistake({"tune", "rwkv7", "--shapes", "1,64,1", "--chunk", "1"}, "there is nothing to tune");
}

}  // namespace
}  // namespace wkvc::test
