// Which entry a lookup takes.
#include "autotune/lockfile/lockfile.h"
#include "tests/autotune/samples.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

const Gpu h100{"NVIDIA H100 80GB HBM3", "sm_90a", 132}, h100_pcie{"NVIDIA H100 PCIe", "sm_90a", 114},
    half{"NVIDIA H200 MIG 3g.71gb", "sm_90a", 60}, b200{"NVIDIA B200", "sm_100a", 148};

Wanted wanted(LaunchSize size = {8, 4096, 64}, const Gpu& gpu = h200) {
  const LockEntry sample = sample_entry(size);
  return {sample.shape_class, sample.recurrence, gpu, sample.evidence.wkvc};
}

LockEntry on(const Gpu& gpu, LaunchSize size = {8, 4096, 64}) {
  LockEntry entry = sample_entry(size);
  entry.gpu = gpu;
  return entry;
}

TEST(Lookup, TakesTheNearestShape) {
  const std::vector<LaunchSize> tuned{{1, 4096, 64}, {4, 1024, 64}, {8, 1024, 64}, {8, 4096, 64}, {16, 4096, 64}};
  Lockfile lockfile;
  for (const LaunchSize& size : tuned) lockfile.merge(sample_entry(size));
  struct Row {
    LaunchSize asked, expected;
  };
  const std::vector<Row> table{
      {{8, 4096, 64}, {8, 4096, 64}},    // itself
      {{64, 4096, 8}, {8, 4096, 64}},    // as many pairs
      {{1, 2048, 90}, {1, 4096, 64}},    // 1 block for an SM, √2 times the pairs, half the tokens
      {{4, 2000, 64}, {4, 1024, 64}},    // 2
      {{8, 1100, 64}, {8, 1024, 64}},    // 4: nearest in tokens
      {{8, 2047, 64}, {8, 1024, 64}},    // just within twice
      {{8, 2049, 64}, {8, 4096, 64}},    // just beyond
      {{8, 8192, 64}, {8, 4096, 64}},    // twice
      {{11, 4096, 64}, {8, 4096, 64}},   // within √2 times the pairs
      {{12, 4096, 64}, {16, 4096, 64}},  // beyond √2 times the pairs of the first
  };
  for (const Row& row : table) {
    const Found found = lockfile.find(wanted(row.asked));
    ASSERT_NE(found.entry, nullptr) << text_of(row.asked);
    EXPECT_EQ(text_of(found.entry->shape_class.size), text_of(row.expected)) << "asked for " << text_of(row.asked);
    EXPECT_EQ(found.same_size, row.asked == row.expected);
    EXPECT_EQ(found.match, GpuMatch::same_gpu);
  }
}

// Settings for many blocks say nothing of few blocks, and the other way round.
TEST(Lookup, TakesNoFarShape) {
  const Lockfile lockfile = with({sample_entry({8, 4096, 64})});
  for (const LaunchSize& far : std::vector<LaunchSize>{
           {8, 8193, 64}, {8, 2047, 64}, {1, 4096, 64}, {5, 4096, 64}, {12, 4096, 64}, {1000, 1, 1000}}) {
    const Found found = lockfile.find(wanted(far));
    EXPECT_EQ(found.entry, nullptr) << text_of(far);
    EXPECT_EQ(found.of_other_texts, 0U);
  }
}

TEST(Lookup, TakesNoOtherKind) {
  const Lockfile lockfile = with({sample_entry()});
  for (const auto& change : std::vector<void (*)(Wanted&)>{
           [](Wanted& x) { x.shape_class.op = "rwkv6"; }, [](Wanted& x) { x.shape_class.pass = "forward"; },
           [](Wanted& x) { x.shape_class.io = DType::f32; }, [](Wanted& x) { x.shape_class.key_dim = 128; },
           [](Wanted& x) { x.shape_class.accuracy = "f16"; }, [](Wanted& x) { x.gpu = b200; }}) {
    Wanted other = wanted();
    change(other);
    const Found found = lockfile.find(other);
    EXPECT_EQ(found.entry, nullptr);
    EXPECT_EQ(found.of_other_texts, 0U);
    EXPECT_THAT(explanation(other, found), ::testing::HasSubstr("no tuned settings"));
  }
  EXPECT_EQ(Lockfile().find(wanted()).entry, nullptr);
}

TEST(Lookup, TakesNoSettingsOfAnotherText) {
  const Lockfile lockfile = with({sample_entry()});
  Wanted changed = wanted();
  changed.recurrence = std::string(32, '0');
  const Found found = lockfile.find(changed);
  EXPECT_EQ(found.entry, nullptr);
  EXPECT_EQ(found.of_other_texts, 1U);
  EXPECT_THAT(explanation(changed, found), ::testing::HasSubstr("text was another one"));
}

TEST(Lookup, FallsBackByArchitectureAndSms) {
  const Lockfile lockfile = with({on(h100_pcie), on(half), on(b200), on(h100), on(h100, {1, 1, 1})});
  const auto gpu_for = [&](const Gpu& gpu) { return lockfile.find(wanted({8, 4096, 64}, gpu)); };
  EXPECT_EQ(gpu_for(h200).entry->gpu, h100);  // as many SMs
  EXPECT_EQ(gpu_for(h200).match, GpuMatch::same_arch);
  EXPECT_TRUE(gpu_for(h200).same_size);
  EXPECT_EQ(gpu_for(half).match, GpuMatch::same_gpu);
  EXPECT_EQ(gpu_for({"NVIDIA GH200", "sm_90a", 120}).entry->gpu, h100_pcie);
  EXPECT_EQ(gpu_for({"NVIDIA H200 MIG 2g.35gb", "sm_90a", 40}).entry->gpu, half);
  EXPECT_EQ(gpu_for({"NVIDIA B300", "sm_100a", 160}).entry->gpu, b200);
  EXPECT_EQ(gpu_for({"NVIDIA A100", "sm_80", 108}).entry, nullptr);
}

TEST(Lookup, TheGpuCountsBeforeTheShape) {
  const Lockfile lockfile = with({on(h100), on(h200, {8, 2048, 64})});
  EXPECT_EQ(lockfile.find(wanted()).entry->gpu, h200);
  EXPECT_FALSE(lockfile.find(wanted()).same_size);
}

TEST(Lookup, ComparesBlocksOfEachGpu) {
  const Lockfile lockfile = with({on(half, {1, 4096, 60}), on(half, {1, 4096, 80})});
  // The other one has as many pairs, but two blocks for an SM.
  EXPECT_EQ(lockfile.find(wanted({1, 4096, 80})).entry->shape_class.size.heads, 60);
}

TEST(Lookup, MentionsOtherVersions) {
  const Lockfile lockfile = with({sample_entry()});
  Wanted later = wanted();
  EXPECT_FALSE(lockfile.find(later).stale);
  later.wkvc = "0.2.0";
  const Found found = lockfile.find(later);
  ASSERT_NE(found.entry, nullptr);
  EXPECT_TRUE(found.stale);
  EXPECT_THAT(explanation(later, found), ::testing::HasSubstr("by wkvc 0.1.0 (this is 0.2.0)"));
}

TEST(Lookup, SaysByWhichRule) {
  const Lockfile lockfile = with({on(h100)});
  Wanted here = wanted({8, 2048, 64}, h100);
  EXPECT_EQ(explanation(here, lockfile.find(here)),
            "tuned: mma bf16, chunk 16, save every 32, saved f16, blocks 2; measured on this GPU, NVIDIA H100 80GB "
            "HBM3, for 8,4096,64, the nearest shape to 8,2048,64, 2026-11-21T19:30:00Z");
  here.gpu = h200;
  EXPECT_THAT(explanation(here, lockfile.find(here)),
              ::testing::HasSubstr("HBM3 (sm_90a, 132 SMs), the nearest of its architecture to NVIDIA H200 (sm_90a"));
}

TEST(Lookup, NeverTakesEditedEntries) {
  std::string text = with({sample_entry()}).text();
  text.replace(text.find("4.45123"), 7, "1.45123");
  EXPECT_EQ(Lockfile::parse(text, "t.json", Seals::ignored).find(wanted()).entry, nullptr);
}

}  // namespace
}  // namespace wkvc
