// What is said to fit: the table in docs/fit.md, and the shared memory of compiled kernels.
#include "autotune/search/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "dsl/builtin.h"
#include "runtime/base/process.h"
#include "runtime/cuda/cubin.h"
#include "runtime/manifest/manifest.h"
#include "runtime/nvrtc/nvrtc.h"

namespace wkvc {
namespace {

using ::testing::HasSubstr;

TEST(Fit, TheTableInDocsIsTrue) {
  std::ifstream file(WKVC_FIT_TABLE);
  std::stringstream table;
  table << file.rdbuf();
  for (const char* op : {"rwkv7", "rwkv6"}) {
    const ProcessResult result = run_process({WKVC_COMMAND, "fit", op});
    ASSERT_TRUE(result.succeeded) << result.output;
    EXPECT_THAT(table.str(), HasSubstr(result.output)) << "docs/fit.md: paste what `wkvc fit " << op << "` prints";
  }
}

// To the byte: what a launch asks for beside what the cubin has by itself is all there is.
TEST(Fit, PredictsTheSharedMemoryOfCubins) {
  for (const auto& [mma, head, pass] :
       {std::tuple("f16", 64, "forward"), {"f16", 64, "backward"}, {"f32", 32, "forward"}, {"bf16", 128, "backward"}}) {
    const Config config{.key_dim = head, .value_dim = head, .io = "bf16", .mma = mma, .pass = pass};
    const FitRow row = fit(rwkv6(), config);
    ASSERT_GT(row.chunk, 0) << row.limit;
    Config largest = config;
    largest.chunk = row.chunk;
    const std::string text = lower_to({Stage::rec, rec_text(rwkv6(), config)}, Stage::cuda, largest);
    const Manifest manifest = manifests_from(text).front();
    const CubinResult compiled = compile_cubin(text, manifest.arch);
    EXPECT_EQ(manifest.shared_bytes + usage_from(compiled.log, manifest.kernel).static_shared, row.shared_bytes);
    EXPECT_EQ(manifest.warps, row.warps);
    EXPECT_LE(row.shared_bytes, 227 * 1024);
  }
}

TEST(Fit, SaysWhyNothingFits) {
  const FitRow row = fit(rwkv7(), {.key_dim = 64, .value_dim = 64, .io = "bf16", .mma = "f16", .sram = 1024});
  EXPECT_EQ(row.chunk, 0);
  EXPECT_THAT(row.limit, HasSubstr("needs"));
  EXPECT_THAT(row.limit, HasSubstr("1024"));
  EXPECT_EQ(row.tile(), "");
}

}  // namespace
}  // namespace wkvc
