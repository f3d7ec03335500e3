// Heads whose value rows are dealt to parts: against the float64 recurrence, and with the bytes that other parts give.
#include <gtest/gtest.h>

#include "runtime/error.h"
#include "tests/expect_error.h"
#include "tests/sequences/models.h"

namespace wkvc::test {
namespace {

Config config_of(int parts) {
  Config config;
  config.key_dim = 32;
  config.value_dim = 64;
  config.pass = "both";
  config.parts = parts;
  return config;
}

Config exact_config(int parts) {
  Config config = config_of(parts);
  config.mma = config.io = "f32";
  return config;
}

class HeadParts : public OfModels {};

TEST_P(HeadParts, AreWithinTheBounds) {
  for (const int parts : {2, 4})
    for (const Config& config : {config_of(parts), exact_config(parts)})
      expect_within_bounds(load(config), config, {2, 75, 3});
}

TEST_P(HeadParts, OfOtherSchedules) {
  Config segments = config_of(2), guarded = config_of(2), states = config_of(4);
  segments.segments = 3;
  segments.backward_segments = 2;
  segments.save_every = 32;
  guarded.scales = guarded.backward_scales = "guarded";
  guarded.teams = 2;
  guarded.rounds = 2;
  guarded.backward_teams = 2;
  states.state = "bf16";
  states.state_layout = "kv";
  for (const Config& config : {segments, guarded, states}) expect_within_bounds(load(config), config, {2, 150, 2});
}

TEST_P(HeadParts, OfKeysThatHeadsShare) {
  Config config = config_of(2);
  config.shared = {"r", "k"};
  expect_within_bounds(load(config), config, {2, 37, 6, {}, {}, 2});
}

// Rows of values do not depend on each other: what has rows of values has the bytes of a head that is whole.
TEST_P(HeadParts, LeaveTheBytesOfRowsAsTheyAre) {
  const Config whole = exact_config(1), in_parts = exact_config(4);
  const Program of_whole = load(whole), of_parts = load(in_parts);
  const std::vector<std::int64_t> starts{0, 40, 40, 57, 150};
  for (const LaunchSize& size :
       {LaunchSize{2, 37, 3}, LaunchSize{1, starts.back(), 3, SequenceMap{4, starts.data(), true}}}) {
    const Problem given = problem(of_whole, whole, size);
    const TensorMap expected = run_in_memory(of_whole, given), got = run_in_memory(of_parts, given);
    for (const TensorSpec& spec : of_parts.manifest().tensors) {
      const bool has_rows = spec.dims.back() == "V" || (spec.dims.size() > 3 && spec.dims[2] == "V");
      if (!is_result(spec.role) || !has_rows) continue;
      EXPECT_TRUE(values_of(of_parts, given, got, spec) == values_of(of_whole, given, expected, spec)) << spec.name;
    }
  }
}

TEST_P(HeadParts, GiveIntermediateStates) {
  for (const char* layout : {"vk", "kv"}) {
    Config whole = exact_config(1);
    whole.pass = "forward";
    whole.states_every = 16;
    whole.state_layout = layout;
    Config in_parts = whole;
    in_parts.parts = 2;
    const Program of_whole = load(whole), of_parts = load(in_parts);
    const Problem given = problem(of_whole, whole, {2, 50, 3});
    const auto expected = run_raw(of_whole, given), got = run_raw(of_parts, given);
    EXPECT_TRUE(got.at("intermediate_states") == expected.at("intermediate_states")) << layout;
    EXPECT_TRUE(got.at("final_state") == expected.at("final_state")) << layout;
  }
}

TEST(PartsOption, DealsWholeTiles) {
  Config config = config_of(8);
  expect_contains(user_error_of([&] { cuda_text(rwkv7(), config); }),
                  "--parts 8: the 64 values of a head can't be dealt to so many parts");
}

TEST(PartsOption, LeavesValuesToTheirHeads) {
  Config config = config_of(2);
  config.shared = {"v"};
  expect_contains(user_error_of([&] { cuda_text(rwkv7(), config); }),
                  "--parts 2: heads share the values 'v'; leave 'v' out of --shared");
}

const Model kPartModels[] = {
    {"rwkv6", rwkv6}, {"rwkv7", rwkv7}, {"gated_delta_net", [] { return recurrence_named("gated_delta_net"); }}};

INSTANTIATE_TEST_SUITE_P(Models, HeadParts,
                         testing::Combine(testing::Values(Target::host, Target::cuda), testing::ValuesIn(kPartModels)),
                         name_of_case);

}  // namespace
}  // namespace wkvc::test
