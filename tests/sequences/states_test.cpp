// How states are stored: dtypes and the order of dimensions change nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checking/values/arrangement.h"
#include "dsl/builtin.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

constexpr std::int64_t kStateHeads = 3, kTokens = 70;

Config forward_schedule(const std::string& name) {
  Config config;
  config.key_dim = 32;
  config.value_dim = 48;
  if (name == "single") config.chunk = 1;
  if (name == "segments") config.segments = 3;
  if (name == "guarded") config.scales = "guarded";
  return config;
}

// Of both passes, if there are two.
Config schedule(const std::string& name) {
  Config config = forward_schedule(name);
  if (name == "single") return config;
  config.pass = "both";
  if (name == "segments") {
    config.backward_segments = 2;
    config.save_every = 32;
  }
  if (name == "guarded") config.backward_scales = "guarded";
  return config;
}

class StoredStates : public testing::TestWithParam<std::tuple<Target, const char*>> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(target()); !why.empty()) GTEST_SKIP() << why;
  }
  static Target target() { return std::get<0>(GetParam()); }
  static Config config() { return schedule(std::get<1>(GetParam())); }
  static Program load(const Config& config) { return Program::load(cuda_text(rwkv7(), config), target()); }
};

const TensorSpec& spec_of(const Manifest& manifest, const std::string& name) {
  return *std::ranges::find(manifest.tensors, name, &TensorSpec::name);
}

// The problem with its states as `manifest` has them; they are exact in every dtype.
Problem arranged(const Manifest& manifest, Problem problem) {
  for (const TensorSpec& spec : manifest.tensors) {
    const auto found = problem.values.find(spec.name);
    if (found != problem.values.end()) found->second = from_recurrence(spec, manifest, problem.size, found->second);
  }
  return problem;
}

// A result in the order of the recurrence.
std::vector<double> result_of(const Program& program, const Problem& problem, const TensorMap& memory,
                              const std::string& name) {
  const TensorSpec& spec = spec_of(program.manifest(), name);
  const Layout layout = layout_of(spec, program.manifest(), problem.size);
  return to_recurrence(spec, program.manifest(), problem.size, read(memory.at(name), layout));
}

TEST_P(StoredStates, ChangeNothingElse) {
  const Program usual = load(config());
  Problem problem = random_problem(usual.manifest(), rec_text(rwkv7(), config()), {2, kTokens, kStateHeads}, 9);
  for (double& value : problem.values.at("initial_state")) value = std::round(value * 16) / 16;
  const TensorMap expected = run_in_memory(usual, problem);
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    for (const char* layout : {"vk", "kv"}) {
      Config changed = config();
      changed.state = dtype;
      changed.state_layout = layout;
      const Program program = load(changed);
      const Problem given = arranged(program.manifest(), problem);
      const TensorMap found = run_in_memory(program, given);
      for (const TensorSpec& spec : program.manifest().tensors) {
        if (!is_result(spec.role)) continue;
        std::vector<double> wanted = result_of(usual, problem, expected, spec.name);
        HostTensor stored(spec.dtype, {1});
        for (double& value : wanted) {
          stored.set(0, value);
          value = stored.get(0);
        }
        EXPECT_TRUE(result_of(program, given, found, spec.name) == wanted)
            << program.manifest().config << ": " << spec.name;
      }
    }
  }
}

// Of two sequences in a pool of five states.
TEST_P(StoredStates, InSlotsInPlace) {
  Config changed = forward_schedule(std::get<1>(GetParam()));
  changed.state = "bf16";
  changed.state_layout = "kv";
  const Program program = load(changed);
  const std::vector<std::int32_t> slots{4, 1};
  LaunchSize size{2, kTokens, kStateHeads};
  const std::string rec = rec_text(rwkv7(), changed);
  Problem problem = random_problem(program.manifest(), rec, size, 9);
  const auto in_order = run_raw(program, problem);
  auto& states = problem.values.at("initial_state");
  const std::size_t row = states.size() / 2;
  std::vector<double> pool(5 * row);
  for (std::size_t n = 0; n < 2; ++n)
    std::copy_n(&states[n * row], row, &pool[static_cast<std::size_t>(slots[n]) * row]);
  states = pool;
  problem.size.slots = SlotMap{5, slots.data()};
  const auto in_slots = run_raw(program, problem);
  EXPECT_TRUE(in_slots.at("o") == in_order.at("o"));
  const auto& whole = in_slots.at("final_state");
  const auto& parts = in_order.at("final_state");
  const std::size_t bytes = parts.size() / 2;
  for (std::size_t n = 0; n < 2; ++n) {
    const auto slot = static_cast<std::size_t>(slots[n]);
    EXPECT_TRUE(std::equal(&parts[n * bytes], &parts[n * bytes] + bytes, &whole[slot * bytes])) << "sequence " << n;
  }
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<Target, const char*>>& info) {
  return std::string(std::get<0>(info.param) == Target::host ? "Host_" : "Cuda_") + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Schedules, StoredStates,
                         testing::Combine(testing::Values(Target::host, Target::cuda),
                                          testing::Values("chunks", "segments", "guarded", "single")),
                         name_of_case);

}  // namespace
}  // namespace wkvc::test
