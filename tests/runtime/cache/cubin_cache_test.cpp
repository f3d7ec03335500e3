#include "runtime/cache/cubin_cache.h"

#include <cstdlib>
#include <sstream>

#include "runtime/base/process.h"
#include "runtime/cache/cache_upkeep.h"
#include "runtime/cuda/cubin.h"
#include "tests/runtime/cache/cache_test.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_kernel.h"
#include "tests/runtime/tiny_program.h"

namespace wkvc {
namespace {

class CachedCubins : public CacheTest {
 protected:
  void SetUp() override {
    std::string why_not;
    if (!nvrtc_available(&why_not)) GTEST_SKIP() << why_not;
  }

  struct Got {
    std::string nvrtc, hash;
  };
  // In a process of its own.
  Got get() const {
    const ProcessResult result = run_process({WKVC_CACHED_PROCESS, settings.directory.string()});
    EXPECT_TRUE(result.succeeded) << result.output;
    Got got;
    std::istringstream(result.output) >> got.nvrtc >> got.hash;
    return got;
  }
  std::vector<std::string> cubins() const {
    std::vector<std::string> names;
    for (const ListedEntry& entry : list_cache(settings)) {
      if (entry.label.step == "cubin") names.push_back(entry.name);
    }
    return names;
  }
};

TEST_F(CachedCubins, AreWhatNvrtcGives) {
  const std::string source = tiny_program();
  const Manifest manifest = manifests_from(source).front();
  DiskCache cache(settings);
  const CubinResult compiled = compile_cubin(source, manifest.arch);
  for (int i = 0; i < 2; ++i) {
    const CubinResult cached = cached_cubin(source, manifest, {}, cache);
    EXPECT_EQ(cached.cubin, compiled.cubin);
    EXPECT_EQ(usage_from(cached.log, "tiny_sum").registers, usage_from(compiled.log, "tiny_sum").registers);
  }
  ASSERT_EQ(cubins().size(), 1U);
  const ListedEntry entry = list_cache(settings).front();
  EXPECT_EQ(entry.label.op, manifest.op);
  EXPECT_EQ(entry.label.config, manifest.config);
  EXPECT_EQ(entry.label.arch, "sm_90a");
  EXPECT_EQ(entry.label.tool, "NVRTC " + nvrtc_version());
  cached_cubin(source + "\n", manifest, {}, cache);
  EXPECT_EQ(cubins().size(), 2U);
}

// Two kernels, the first far longer than the second.
std::string two_kernels() {
  const auto kernel = [](const std::string& name, int operations) {
    std::string text = program_line(name, "", tensor_json("u", "parameter", R"("H","K")"));
    text += "WKVC_KERNEL(" + name + ", 1, 1, 1) {\n  float* x = static_cast<float*>(args.tensor[0].data);\n";
    for (int i = 0; i < operations; ++i) text += "  x[" + std::to_string(i) + "] += 1.f;\n";
    return text + "}\n";
  };
  return "#include \"wkvc/tile.h\"\n" + kernel("long_one", 200) + kernel("short_one", 1);
}

TEST_F(CachedCubins, SideBySideEachHasItsOwnKernelsCode) {
  const std::string source = two_kernels();
  const std::vector<Manifest> manifests = manifests_from(source);
  DiskCache cache(settings);
  const std::vector<CubinResult> compiled = cached_cubins(source, manifests, cache);
  ASSERT_EQ(compiled.size(), 2U);
  const CubinResult together = compile_cubin(source, "sm_90a");
  EXPECT_EQ(code_bytes(compiled[0].cubin, "long_one"), code_bytes(together.cubin, "long_one"));
  EXPECT_EQ(code_bytes(compiled[1].cubin, "short_one"), code_bytes(together.cubin, "short_one"));
  EXPECT_LT(code_bytes(compiled[1].cubin, "long_one"), code_bytes(together.cubin, "long_one"));
  EXPECT_EQ(cached_cubins(source, manifests, cache)[0].cubin, compiled[0].cubin);
  std::vector<std::string> ops;
  for (const ListedEntry& entry : list_cache(settings)) {
    if (entry.label.step == "cubin") ops.push_back(entry.label.op);
  }
  EXPECT_THAT(ops, ::testing::UnorderedElementsAre("long_one", "short_one"));
}

TEST_F(CachedCubins, OfAlignedLaunchesHaveNoCodeForOthers) {
  std::string source = "#include \"wkvc/tile.h\"\n" +
                       program_line("tiny_rows", "", tensor_json("u", "parameter", R"("H","K")")) +
                       "WKVC_KERNEL(tiny_rows, 1, 1, 1) {\n  float* x = static_cast<float*>(args.tensor[0].data);\n"
                       "  x[0] += 1.f;\n  if (wkvc::is_aligned(args)) return;\n";
  for (int i = 1; i < 200; ++i) source += "  x[" + std::to_string(i) + "] += 1.f;\n";
  source += "}\n";
  const std::vector<Manifest> manifests = manifests_from(source);
  DiskCache cache(settings);
  const CubinResult aligned = cached_cubins(source, manifests, cache)[0];
  const CubinResult general = cached_cubin(source, manifests[0], {}, cache);
  EXPECT_LT(2 * code_bytes(aligned.cubin, "tiny_rows"), code_bytes(general.cubin, "tiny_rows"));
  EXPECT_EQ(cubins().size(), 2U);
}

TEST_F(CachedCubins, ComeFromDiskWithoutNvrtc) {
  const Got first = get(), second = get();
  EXPECT_EQ(first.nvrtc, "opened");
  EXPECT_EQ(second.nvrtc, "unopened");
  EXPECT_EQ(first.hash, second.hash);
  const std::string name = cubins().at(0);
  std::filesystem::resize_file(settings.directory / name, 1000);
  const Got rebuilt = get();
  EXPECT_EQ(rebuilt.nvrtc, "opened");
  EXPECT_EQ(cubins(), std::vector<std::string>{name});
  EXPECT_EQ(get().nvrtc, "unopened");
}

// Where another NVRTC may be found now, the answer of the last search counts no longer; the cubin is the same still.
TEST_F(CachedCubins, NvrtcIsLookedForAgainWhereTheSearchChanged) {
  get();
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string paths = before != nullptr ? before : "";
  ::setenv("LD_LIBRARY_PATH", (parent.path().string() + ":" + paths).c_str(), 1);
  const std::string in_front = get().nvrtc, again = get().nvrtc;
  std::filesystem::create_directory(parent.path() / "changes its time");
  const std::string changed = get().nvrtc;
  before != nullptr ? ::setenv("LD_LIBRARY_PATH", paths.c_str(), 1) : ::unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(in_front, "opened");
  EXPECT_EQ(again, "unopened");
  EXPECT_EQ(changed, "opened");
  EXPECT_EQ(cubins().size(), 1U);
}

TEST_F(CachedCubins, TextsThatDoNotCompileAreNotKept) {
  DiskCache cache(settings);
  const std::string source = tiny_kernel() + "int wrong = missing;\n";
  for (int i = 0; i < 2; ++i) {
    expect_error<InternalError>([&] { cached_cubin(source, manifest_from(source), {}, cache); },
                                {"\"missing\" is undefined", "int wrong = missing;"});
  }
  EXPECT_THAT(cubins(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace wkvc
