// Shared memory and registers: what is refused for want of them, and what the refusal says to do.
#include "dsl/builtin.h"
#include "dsl/wkvc.h"
#include "tests/count.h"
#include "tests/expect_error.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

std::string error_at_warp(const Definition& definition, const Config& config) {
  return user_error_of([&] { lower_to(rec_source(definition, config), Stage::warp, config); });
}

TEST(Advice, IsPossible) {
  const auto advice = [](const Definition& definition, const Config& config) {
    const std::string error = error_at_warp(definition, config);
    const std::size_t begin = error.find("the budget is");
    return begin == error.npos ? error : error.substr(begin, error.find(". Its buffers:") - begin);
  };
  EXPECT_EQ(advice(rwkv7(), {.key_dim = 16, .value_dim = 16, .sram = 1000}), "the budget is 1000; use a larger --sram");
  EXPECT_EQ(advice(rwkv7(), {.sram = 1000}),
            "the budget is 1000; use a smaller --head, more --parts or a larger --sram");
  EXPECT_EQ(advice(rwkv7(), {.key_dim = 256, .value_dim = 256, .io = "f32", .mma = "f32", .chunk = 128}),
            "the budget is 232448; use a smaller --chunk, a smaller --head, more --parts, a narrower --io or a "
            "narrower --mma");
  EXPECT_EQ(advice(rwkv7(), {.key_dim = 256, .value_dim = 256, .teams = 2, .rounds = 2, .cluster = 2}),
            "the budget is 232448; use a smaller --cluster, a smaller --head or more --parts");
}

// Kernels copy nothing ahead where rings of two stages have no room.
TEST(Copies, StartWhereTheirPlaceIsFree) {
  const auto kernels_without = [](const Definition& definition, const Config& config) {
    return count(lower_to(rec_source(definition, config), Stage::warp, config), "prefetch = none");
  };
  EXPECT_EQ(kernels_without(rwkv7(), {.pass = "both"}), 0);
  EXPECT_EQ(kernels_without(rwkv7(), {.sram = 30000, .pass = "forward"}), 1);
  EXPECT_EQ(kernels_without(rwkv6(), {.sram = 33000, .pass = "forward"}), 1);
  EXPECT_EQ(kernels_without(rwkv7(), {.sram = 40500, .pass = "both"}), 1);
  EXPECT_EQ(kernels_without(rwkv6(), {.sram = 54500, .pass = "both"}), 1);
  EXPECT_EQ(kernels_without(rwkv7(), {.key_dim = 128, .value_dim = 128, .mma = "f32", .pass = "both"}), 1);
  for (const int head : {64, 128}) {  // of what is refused without scales alone
    const Config config{.key_dim = head, .value_dim = head, .pass = "both", .saved = "f16", .scales = "guarded"};
    EXPECT_EQ(kernels_without(recurrence_named("gentle_decays"), config), head == 128 ? 1 : 0);
  }
}

// The order is in the text, for both programs of a kernel.
TEST(Copies, OfAPlacedTextAreAsItSays) {
  const Config config{.key_dim = 128, .value_dim = 128, .mma = "f32", .pass = "both"};
  std::string placed = lower_to(rec_source(rwkv7(), config), Stage::placed, config);
  EXPECT_EQ(lower_to(source_from(placed), Stage::cuda, {}), lower_to(rec_source(rwkv7(), config), Stage::cuda, config));
  const std::string none = "prefetch = none";
  placed.replace(placed.find(none), none.size(), "prefetch = inputs");
  expect_contains(user_error_of([&] { lower_to(source_from(placed), Stage::cuda, {}); }),
                  "the program that recomputes states of 'rwkv7' has another memory");
}

std::string plain(const Definition& definition, Config config) {
  config.scales = "guarded";
  return error_at_warp(definition, config);
}

// Nobody asks for teams of a summary.
TEST(Registers, AreThereForTeamsOfASummary) {
  const Config config{.key_dim = 128, .value_dim = 256, .segments = 2, .scales = "guarded"};
  EXPECT_NO_THROW(lower_to(rec_source(rwkv7(), config), Stage::warp, config));
}

// 24 warps leave a thread 80 registers: 65536 / (24 · 32), in units of 8.
TEST(Registers, ThatContractionsByGroupsTake) {
  EXPECT_EQ(plain(rwkv7(), {.key_dim = 256, .value_dim = 256, .blocks = 1, .teams = 1, .rounds = 2}),
            "--rounds 2: the forward kernel of 'rwkv7' has 24 warps, so that with one block a multiprocessor a thread "
            "has 80 registers; contractions of its groups of warps take at least 94: use --cluster 2 or --rounds 1");
  EXPECT_EQ(
      plain(rwkv7(), {.key_dim = 256, .value_dim = 256, .teams = 2, .segments = 4}),
      "--teams 2: the forward kernel for segments of 'rwkv7' has 32 warps, so that with one block a multiprocessor "
      "a thread has 64 registers; contractions of its groups of warps take at least 94: use --segments 1 or "
      "--teams 1");
  EXPECT_EQ(plain(rwkv6(), {.key_dim = 128, .value_dim = 128, .blocks = 3, .teams = 2}),
            "--teams 2: the forward kernel of 'rwkv6' has 8 warps, so that with 3 blocks a multiprocessor a thread has "
            "80 registers; contractions of its groups of warps take at least 94: use --blocks 2");
  EXPECT_EQ(
      plain(rwkv7(), {.key_dim = 64, .value_dim = 256, .blocks = 3, .teams = 2}),
      "--teams 2: the forward kernel of 'rwkv7' has 16 warps, so that with 3 blocks a multiprocessor a thread has "
      "40 registers; contractions of its groups of warps take at least 62: use --blocks 2");
}

// What each of these refusals says to use is not refused.
TEST(Registers, AreThereWithWhatARefusalSays) {
  struct Fitting {
    Definition definition;
    Config config;
  };
  for (auto [definition, config] : {
           Fitting{rwkv7(), {.key_dim = 128, .value_dim = 128, .blocks = 1, .teams = 2, .segments = 16}},
           {rwkv7(), {.key_dim = 128, .value_dim = 128, .blocks = 1, .teams = 2, .rounds = 2}},
           {rwkv7(), {.key_dim = 128, .value_dim = 128, .blocks = 1, .segments = 16}},
           {rwkv7(), {.key_dim = 256, .value_dim = 256, .teams = 2}},
           {rwkv7(), {.key_dim = 256, .value_dim = 256, .segments = 4}},
           {rwkv6(), {.key_dim = 128, .value_dim = 128, .blocks = 2, .teams = 2}},
           {rwkv7(), {.key_dim = 64, .value_dim = 256, .blocks = 2, .teams = 2}},
       }) {
    config.scales = "guarded";
    EXPECT_FALSE(lower_to(rec_source(definition, config), Stage::warp, config).empty());
  }
}

// A text that asks for more blocks is refused like an option that does.
TEST(Registers, OfEditedTexts) {
  const Config config{.key_dim = 128, .value_dim = 128, .blocks = 1, .teams = 2, .rounds = 2, .scales = "guarded"};
  std::string text = lower_to(rec_source(rwkv7(), config), Stage::warp, config);
  const std::string blocks = "blocks = 1)";
  text.replace(text.find(blocks), blocks.size(), "blocks = 2)");
  expect_contains(user_error_of([&] { lower_to(source_from(text), Stage::cuda, {}); }),
                  "leaves a thread 64 registers where a multiprocessor holds 2 blocks of 16 warps; contractions by "
                  "groups take at least 94");
}

}  // namespace
}  // namespace wkvc::test
