// The memory of a schedule is chosen by the sizes and lifetimes that places have.
#include <gmock/gmock.h>

#include "codegen/passes/place/memory/KernelMemory.h"
#include "tests/expect_error.h"
#include "tests/place/placed.h"
#include "tests/place/sources.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;

TEST(Memory, HoldsWhatPlacesStore) {
  Placed kept(with(read_again), 3, false, Stored::sums), made(with(read_again), 3, false, Stored::contractions);
  const Plan plan = warps_of(kept.program());
  const KernelMemory with_sums(kept.placement(), nullptr, plan, Ahead::inputs);
  const KernelMemory without(made.placement(), nullptr, warps_of(made.program()), Ahead::inputs);
  const PlannedBuffer* L = with_sums.main().shared.find(kept.op("L")->getResult(0));
  ASSERT_TRUE(L);
  EXPECT_EQ(L->space->from, 0);
  EXPECT_EQ(L->space->to, 1);
  EXPECT_GE(L->space->bytes, 16 * 32 * 4);
  EXPECT_FALSE(without.main().shared.find(made.op("L")->getResult(0)));
  EXPECT_GT(with_sums.bytes(), without.bytes());
  EXPECT_FALSE(with_sums.again());
}

// A third block is worth more than what the next group begins with.
TEST(Memory, IsWhatTheBlocksLeave) {
  const auto memory = [](int blocks) {
    const Config config{.backward_blocks = blocks, .pass = "both", .save_every = 64, .saved = "f16"};
    const std::string text = lower_to(rwkv6_source(config), Stage::placed, config);
    const std::size_t at = text.find("memory(", text.find("attributes {backward"));
    return text.substr(at, text.find(')', at) + 1 - at);
  };
  EXPECT_EQ(memory(2), "memory(keep = activations, prefetch = groups)");
  EXPECT_EQ(memory(3), "memory(keep = activations, prefetch = states)");
}

// Rings of wide heads have memory of their own, where there is room: copies start as soon as teams have read them.
TEST(Memory, OfWideHeadsIsForCopiesToo) {
  const auto prefetches = [](int head) {
    const Config config{.key_dim = head,
                        .value_dim = head,
                        .backward_teams = 2,
                        .pass = "both",
                        .save_every = 64,
                        .saved = "f16",
                        .scales = "guarded"};
    const std::string text = lower_to(rwkv6_source(config), Stage::placed, config);
    return text.find("prefetch = read") != std::string::npos;
  };
  EXPECT_TRUE(prefetches(128));
  EXPECT_FALSE(prefetches(64));
}

// Kernels have the shared memory that their placed programs have.
TEST(Memory, OfAKernelIsThatOfItsPlaces) {
  const Config config{.backward_teams = 2, .pass = "both", .scales = "guarded"};
  const std::string placed = lower_to(rwkv7_source(config), Stage::placed, config);
  EXPECT_EQ(lower_to(source_from(placed), Stage::cuda, {}), lower_to(rwkv7_source(config), Stage::cuda, config));
}

TEST(Memory, TakesAnOrder) {
  std::string text = lower_to(rwkv7_source({}), Stage::chunk, {});
  const std::string arch = "sram_budget";
  text.insert(text.find(arch), "schedule = #wkvc.schedule<memory(keep = contractions, prefetch = inputs)>, ");
  const std::string placed = lower_to(source_from(text), Stage::placed, {});
  EXPECT_THAT(placed, HasSubstr("memory(keep = contractions, prefetch = inputs)"));
}

TEST(Memory, SaysWhatMayBePrefetched) {
  const std::string text = lower_to(rwkv7_source({.pass = "both"}), Stage::chunk, {.pass = "both"});
  const std::string part = "checkpoint(every = 4)", backward = "{backward";
  for (const char* prefetch : {"early", "read"}) {
    std::string edited = text;
    edited.insert(edited.find(part, edited.find(backward)) + part.size(),
                  std::string(", memory(prefetch = ") + prefetch + ")");
    expect_contains(user_error_of([&] { lower_to(source_from(edited), Stage::placed, {}); }),
                    "it may keep less, contractions at least, and prefetch none, inputs, states or groups");
  }
}

}  // namespace
}  // namespace wkvc::test
