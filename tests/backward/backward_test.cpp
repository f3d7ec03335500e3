// The emitted forward and backward kernels against the recurrence and its gradients in float64, on the host target and,
// where there is one, on a GPU.
#include <gtest/gtest.h>

#include "dsl/builtin.h"
#include "tests/backward/backward.h"
#include "tests/backward/problems.h"

namespace wkvc::test {
namespace {

TEST_P(Backward, SequenceLengths) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition);
    for (std::int64_t tokens : {1, 15, 16, 17, 63, 1000})
      at.check({1, tokens, tokens < 15 ? 30 : tokens > 100 ? 1 : 2});
    at.check({2, 37, 3}, [](Problem& problem) { problem.storage = Storage::heads_first; });
  }
}

// Which no kernel for aligned launches can take.
TEST_P(Backward, UnalignedRows) {
  const auto unaligned = [](Problem& problem) { problem.storage = Storage::unaligned; };
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition);
    at.check({2, 37, 3}, unaligned);
    at.check({2, 37, 3});  // the same program
    Config config = config_of("f16", "bf16");
    config.teams = config.backward_teams = 2;
    subject(definition, config).check({2, 37, 3}, unaligned);
  }
}

TEST_P(Backward, Dtypes) {
  for (const Config& config : kDtypes)
    for (const Definition& definition : {rwkv7(), rwkv6()}) subject(definition, config).check({2, 50, 2}, lower_decays);
  for (const Config& config : kOperands) subject(rwkv7_logw(), config).check({2, 50, 2}, lower_decays);
}

TEST_P(Backward, Heads) {
  for (auto [K, V] : {std::pair{32, 32}, {128, 128}, {64, 128}, {48, 80}})
    subject(rwkv7(), config_of("f16", "bf16", K, V)).check({1, 40, 2});
  for (auto [K, V] : {std::pair{64, 128}, {48, 80}}) subject(rwkv6(), config_of("f16", "bf16", K, V)).check({1, 40, 2});
}

// Blocks have no room for rings of two stages (Copies.StartWhereTheirPlaceIsFree).
TEST_P(Backward, CopiesNothingAhead) {
  for (auto [definition, bytes] : {std::pair{rwkv7(), 40500}, {rwkv6(), 54500}}) {
    Config config = kDtypes[0];
    config.sram = bytes;
    for (std::int64_t tokens : {1, 17, 150}) subject(definition, config).check({2, tokens, tokens < 15 ? 15 : 2});
    config.segments = 2;
    config.save_every = 16;
    subject(definition, config).check({1, 150, 2});
  }
  subject(rwkv7(), config_of("f32", "bf16", 128, 128)).check({1, 70, 1});
}

TEST_P(Backward, StrongDecays) {
  for (const Config& config : kDtypes) {
    subject(rwkv6(), config).check({1, 100, 2}, strong_decays_of_rwkv6);
  }
  for (const Config& config : kOperands) {
    subject(rwkv7_logw(), config).check({1, 100, 2}, strong_decays_of_logarithms);
  }
}

// The hardest triangular solve.
TEST_P(Backward, RepeatedKey) {
  for (const Config& config : kDtypes) {
    const Subject at = subject(rwkv7(), config);
    for (double beta : {0.9, 1.0})
      at.check({1, 200, 1}, [&](Problem& problem) { repeat_key(problem, beta); }, cost_of_repeated_keys(config));
  }
}

TEST_P(Backward, IncomingGradientsOfAnyMagnitude) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) check_magnitudes(subject(definition));
}

TEST_P(Backward, WithoutStates) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) check_without_states(subject(definition));
}

std::set<std::string> gradients_of(const Manifest& manifest) {
  std::set<std::string> names;
  for (const TensorSpec& spec : manifest.tensors)
    if (is_result(spec.role) && is_gradient(spec.role)) names.insert(spec.name);
  return names;
}

// Those that are asked for, in the same bytes as among all of them, and no others.
TEST_P(Backward, SomeGradients) {
  using Names = std::vector<std::string>;
  for (const auto& [definition, subsets] : {std::pair{rwkv7(), std::vector<Names>{{"r"}, {"w", "k"}, {"a", "b"}}},
                                            {rwkv6(), std::vector<Names>{{"v"}, {"u"}, {"w", "k"}}}}) {
    const Subject all = subject(definition);
    const Problem problem = all.problem({2, 37, 2});
    const auto bytes = run_raw(all.program(), problem);
    for (const Names& names : subsets) {
      Config config = all.config;
      config.gradients = names;
      const Subject some = subject(definition, config);
      std::set<std::string> expected{"dinitial_state"};
      for (const std::string& name : names) expected.insert("d" + name);
      EXPECT_EQ(gradients_of(some.manifest), expected);
      for (const auto& [name, raw] : run_raw(some.program(), problem))
        EXPECT_EQ(raw, bytes.at(name)) << definition.name << ": " << name << " among " << names.size();
    }
  }
}

TEST_P(Backward, SameBytesEveryTime) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Subject at = subject(definition);
    const Problem problem = at.problem({2, 100, 4});
    const auto first = run_raw(at.program(), problem);
    for (int i = 1; i < (GetParam() == Target::host ? 3 : 100); ++i)
      ASSERT_EQ(run_raw(at.program(), problem), first) << i;
  }
}

// Real ones, beside float64 results of another program too.
void check_activations(const Subject& at) {
  const SafetensorsFile file = read_safetensors(WKVC_TEST_DATA "/rwkv7_layer1_head0.safetensors");
  Problem problem{{1, 1000, 1}, {}, Storage::tokens_first, {"initial_state", "dfinal_state"}};
  Values recorded;
  for (const TensorSpec& spec : at.manifest.tensors) {
    const auto found = file.tensors.find(spec.name);
    if (found == file.tensors.end()) continue;
    auto& values = is_result(spec.role) ? recorded[spec.name] : problem.values[spec.name];
    for (std::size_t i = 0; i < found->second.size(); ++i) values.push_back(found->second.get(i));
  }
  at.expect_within(problem);
  const Errors errors = run_and_compare(at.program(), problem, recorded);
  EXPECT_EQ(errors.size(), 8u);
  for (const auto& [name, error] : errors) EXPECT_LE(error, name[0] == 'd' ? 2e-3 : 1.8e-3) << name;
}

TEST_P(Backward, Activations) {
  check_activations(subject(rwkv7()));
  check_activations(subject(rwkv7(), of_teams(config_of("f16", "bf16"), 2)));
}

std::string target_name(const testing::TestParamInfo<Target>& info) {
  return info.param == Target::host ? "Host" : "Cuda";
}
INSTANTIATE_TEST_SUITE_P(Targets, Backward, testing::Values(Target::host, Target::cuda), target_name);

}  // namespace
}  // namespace wkvc::test
