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

TEST_F(Tuning, HasNothingToTuneOfSingleTokens) {
  expect_mistake({"tune", "rwkv7", "--shapes", "1,64,1", "--chunk", "1"}, "there is nothing to tune");
}

}  // namespace
}  // namespace wkvc::test
