// Which configurations are tried, and how the model ranks them.
#include "autotune/search/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "autotune/lockfile/config_json.h"
#include "autotune/search/model.h"
#include "codegen/config/config.h"
#include "runtime/error.h"
#include "tests/runtime/expect_error.h"

namespace wkvc {
namespace {

const Config trained{.key_dim = 64, .value_dim = 64, .pass = "both"};

TEST(Space, HasEveryCombinationOnce) {
  const std::vector<Config> space = search_space(trained, {});
  std::set<std::string> texts;
  for (const Config& config : space) texts.insert(config_text(config));
  EXPECT_EQ(texts.size(), space.size());
  EXPECT_GE(space.size(), 200U);
  for (const Config& config : space) EXPECT_EQ(config.save_every % config.chunk, 0);
  const auto in_teams = [](const Config& config) { return config.backward_teams == 2; };
  EXPECT_TRUE(std::ranges::any_of(space, in_teams));
  std::set<int> distances;  // in chunks
  for (const Config& config : space)
    if (in_teams(config)) distances.insert(config.save_every / config.chunk);
  EXPECT_EQ(distances, (std::set<int>{2, 4}));
}

TEST(Space, HasClustersWhereHeadsAreFew) {
  const auto crews = [](LaunchSize size, int keys = 64) {
    std::set<std::tuple<int, int, int>> all;
    Config base = trained;
    base.key_dim = keys;
    for (const Config& config : search_space(base, {.sizes = {size}}))
      all.emplace(config.teams, config.rounds, config.cluster);
    return all;
  };
  std::set<std::tuple<int, int, int>> expected{{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {4, 2, 1}};
  EXPECT_EQ(crews({8, 4096, 64}), expected);
  expected.emplace(3, 2, 2);
  EXPECT_EQ(crews({1, 4096, 64}), expected);
  expected = {{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {3, 2, 1}, {2, 2, 2}, {1, 2, 2}};
  EXPECT_EQ(crews({1, 4096, 64}, 128), expected);
}

TEST(Space, SavesAStateForEachRoundOfTheTeamsGivenOrForTwo) {
  Config config = trained;
  config.backward_teams = 4;
  const auto distances = [](const Config& base) {
    std::set<int> all;  // in chunks
    for (const Config& point : search_space(base, {})) all.insert(point.save_every / point.chunk);
    return all;
  };
  EXPECT_EQ(distances(config), (std::set<int>{4, 8}));
  config.scales = "always";
  EXPECT_EQ(distances(config), (std::set<int>{4}));
}

TEST(Space, HasTeamsForTheRoundsGiven) {
  Config config = trained;
  config.rounds = 2;
  const std::vector<Config> space = search_space(config, {});
  EXPECT_FALSE(space.empty());
  for (const Config& point : space) EXPECT_GT(point.teams, 1);
  config.rounds = 1;
  config.cluster = 2;
  EXPECT_THROW(search_space(config, {}), UserError);
}

TEST(Space, TakesNoMoreMemoryThanTheDefaultUnlessAllowed) {
  const auto dense = [](const Config& config) { return config.save_every == 16; };
  const auto per_token = [](const Config& config) {
    return 64.0 * 64 * (config.saved == "f32" ? 4 : 2) / config.save_every;
  };
  for (const Config& config : search_space(trained, {})) EXPECT_LE(per_token(config), 64 * 64 * 4 / 64.0);
  EXPECT_TRUE(std::ranges::none_of(search_space(trained, {}), dense));
  EXPECT_TRUE(std::ranges::any_of(search_space(trained, {.saved_bytes = 1024}), dense));
}

TEST(Space, CutsBackwardPassesByThemselves) {
  std::set<std::pair<int, int>> counts;
  for (const Config& config : search_space(trained, {.sizes = {{1, 4096, 64}}}))
    counts.emplace(config.segments, config.backward_segments);
  EXPECT_TRUE(counts.contains({0, 4}) && counts.contains({4, 0}) && counts.contains({2, 8}));
}

TEST(Space, SaysWhatScalesRun) {
  for (const char* pass : {"forward", "both"}) {
    Config config = trained;
    config.pass = pass;
    std::set<std::string> scales;
    for (const Config& point : search_space(config, {.sizes = {{1, 4096, 64}}})) {
      EXPECT_NO_THROW(check_fields(point));
      scales.insert(fmt::format("{}: {}, {}", point.cluster, point.scales, completed(point).backward_scales));
    }
    const std::string backward = config.pass == "both" ? "guarded" : "always";
    EXPECT_EQ(scales, (std::set<std::string>{"1: guarded, guarded", "2: always, " + backward, "2: guarded, guarded"}));
    for (const char* given : {"guarded", "always"}) {
      config.scales = given;
      std::set<int> clusters;
      for (const Config& point : search_space(config, {.sizes = {{1, 4096, 64}}})) {
        EXPECT_EQ(point.scales, given);
        clusters.insert(point.cluster);
      }
      EXPECT_EQ(clusters, (std::set<int>{1, 2}));
    }
  }
}

TEST(Space, HasClustersGiven) {
  Config config = trained;
  config.cluster = 2;
  for (const Config& point : search_space(config, {.sizes = {{1, 4096, 64}}}))
    EXPECT_TRUE(point.cluster == 2 && point.rounds == 2 && point.teams > 1);
  config.rounds = 1;
  EXPECT_THROW(search_space(config, {}), UserError);
}

TEST(Space, CutsSequencesWhereThereAreFew) {
  const auto counts = [](const std::vector<LaunchSize>& sizes) {
    std::set<int> all;
    for (const Config& config : search_space(trained, {.sizes = sizes})) all.insert(config.segments);
    return all;
  };
  EXPECT_EQ(counts({{8, 4096, 64}}), (std::set<int>{0, 2}));
  EXPECT_EQ(counts({{8, 4096, 64}, {1, 4096, 64}}), (std::set<int>{0, 2, 4, 8, 16}));
  EXPECT_EQ(counts({{32, 4096, 64}}), (std::set<int>{0}));
  EXPECT_EQ(counts({{1, 300, 1}}), (std::set<int>{0, 2}));
}

TEST(Space, LeavesAloneWhatIsSettled) {
  Config config = trained;
  config.chunk = 32;
  config.blocks = 2;
  config.backward_blocks = 1;
  config.teams = 1;
  config.rounds = 1;
  config.cluster = 1;
  config.backward_teams = 1;
  config.saved = "bf16";
  config.scales = "always";
  config.save_every = 32;
  const std::vector<Config> space = search_space(config, {});
  ASSERT_EQ(space.size(), 1U);
  EXPECT_EQ(config_text(space.front()), config_text(config));
  config.pass = "forward";
  config.backward_blocks = config.backward_teams = config.save_every = 0;
  config.saved = "";
  EXPECT_EQ(search_space(config, {}).size(), 1U);
}

// Numbers as they are for the forward kernel of a head of 64.
KernelFacts facts(int registers, std::int64_t shared) {
  KernelFacts kernel;
  kernel.manifest.warps = 4;
  kernel.manifest.chunk = 16;
  kernel.manifest.key_dim = kernel.manifest.value_dim = 64;
  kernel.manifest.shared_bytes = shared;
  kernel.usage.registers = registers;
  kernel.code_bytes = 1000 * 16;
  return kernel;
}

TEST(Model, CountsWaves) {
  const auto ms = [](const KernelFacts& kernel, LaunchSize size) {
    return predicted_ms(std::vector{kernel}, size, GpuFacts());
  };
  const KernelFacts kernel = facts(128, 40000);                                   // four blocks an SM
  EXPECT_NEAR(ms(kernel, {1, 4096, 132}) / ms(kernel, {1, 2048, 132}), 2, 1e-9);  // chunks one after another
  EXPECT_NEAR(ms(kernel, {1, 4096, 64}), ms(kernel, {1, 4096, 132}), 1e-9);       // idle SMs gain nothing
  EXPECT_NEAR(ms(kernel, {8, 4096, 132}) / ms(kernel, {4, 4096, 132}), 2, 1e-9);  // two waves
  EXPECT_LT(ms(kernel, {4, 4096, 132}), 4 * ms(kernel, {1, 4096, 132}));          // blocks fill each other's gaps
  EXPECT_LT(ms(kernel, {3, 4096, 132}), ms(facts(255, 40000), {3, 4096, 132}));   // and fewer fit with more registers
  EXPECT_LT(ms(kernel, {4, 4096, 132}), ms(facts(128, 200000), {4, 4096, 132}));  // or more shared memory
  KernelFacts cut = kernel;
  cut.manifest.segments = 4;
  cut.manifest.tensors = {{"k", Role::input, DType::bf16, {"B", "T", "H", "K"}}};
  EXPECT_LT(ms(cut, {1, 4096, 64}), ms(kernel, {1, 4096, 64}));  // idle SMs get segments
}

}  // namespace
}  // namespace wkvc
