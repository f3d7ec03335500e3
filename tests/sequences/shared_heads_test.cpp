// Heads of values that share a head of keys: against the float64 recurrence in which each head has its own, and with
// the bytes that it has then.
#include <gtest/gtest.h>

#include "checking/values/arrangement.h"
#include "runtime/error.h"
#include "tests/sequences/models.h"

namespace wkvc::test {
namespace {

constexpr std::int64_t kManyHeads = 6;

Config config_of(const Model& model) {
  Config config;
  config.key_dim = 32;
  config.value_dim = 48;
  config.shared = model.shared;
  config.pass = "both";
  return config;
}

class SharedHeads : public OfModels {};

TEST_P(SharedHeads, AreWithinTheBounds) {
  Config exact = config_of(model());
  exact.mma = exact.io = "f32";
  for (const Config& config : {config_of(model()), exact}) {
    const Program program = load(config);
    for (const std::int64_t shared : {1, 2, 3, 6})
      expect_within_bounds(program, config, {2, 75, kManyHeads, {}, {}, shared});
  }
}

TEST_P(SharedHeads, OfOtherSchedules) {
  Config segments = config_of(model()), guarded = config_of(model());
  segments.segments = 3;
  segments.backward_segments = 2;
  segments.save_every = 32;
  guarded.scales = guarded.backward_scales = "guarded";
  for (const Config& config : {segments, guarded})
    expect_within_bounds(load(config), config, {1, 150, kManyHeads, {}, {}, 2});
}

// What each head has of a tensor that heads share.
Problem with_own_heads(const Manifest& manifest, const Problem& shared) {
  Problem own = shared;
  own.size.shared_heads = 0;
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_shared(spec) || is_result(spec.role)) continue;
    own.values[spec.name] = to_recurrence(spec, manifest, shared.size, shared.values.at(spec.name));
  }
  return own;
}

TEST_P(SharedHeads, HaveTheBytesOfHeadsOfTheirOwn) {
  for (const bool single : {false, true}) {
    Config config = config_of(model());
    if (single) config.chunk = 1, config.pass = "forward";
    const Program program = load(config);
    const Problem given = problem(program, config, {2, 37, kManyHeads, {}, {}, 2});
    const auto shared = run_raw(program, given), own = run_raw(program, with_own_heads(program.manifest(), given));
    for (const TensorSpec& spec : program.manifest().tensors) {
      if (!is_result(spec.role) || is_shared(spec)) continue;
      EXPECT_TRUE(shared.at(spec.name) == own.at(spec.name)) << program.manifest().config << ": " << spec.name;
    }
  }
}

// The sum in f32 of `group` neighbouring rows, one after the other.
std::vector<double> summed_in_order(const std::vector<double>& x, std::size_t length, std::size_t group) {
  std::vector<double> sums(x.size() / group);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double& sum = sums[i / length / group * length + i % length];
    sum = static_cast<float>(sum) + static_cast<float>(x[i]);
  }
  return sums;
}

// Sequences one behind the other, of which some are empty: results are those of heads of their own, to the byte, and
// gradients of shared inputs are their sums in order.
TEST_P(SharedHeads, OfPackedSequences) {
  Config whole = config_of(model());
  whole.mma = whole.io = "f32";
  Config pieces = whole;
  pieces.segments = 3;
  pieces.backward_segments = 2;
  pieces.save_every = 32;
  const std::vector<std::int64_t> starts{0, 40, 40, 57, 150};
  const LaunchSize size{1, starts.back(), kManyHeads, SequenceMap{4, starts.data(), true}, {}, 3};
  for (const Config& config : {whole, pieces}) {
    const Program program = load(config);
    const Problem packed = problem(program, config, size);
    const Problem own = with_own_heads(program.manifest(), packed);
    const TensorMap together = run_in_memory(program, packed), alone = run_in_memory(program, own);
    for (const TensorSpec& spec : program.manifest().tensors) {
      if (!is_result(spec.role)) continue;
      std::vector<double> expected = values_of(program, own, alone, spec);
      const auto length =
          static_cast<std::size_t>(spec.dims.size() == 4 ? shape_of(spec, program.manifest(), size)[3] : 1);
      if (is_shared(spec)) expected = summed_in_order(expected, length, 2);
      EXPECT_TRUE(values_of(program, packed, together, spec) == expected)
          << program.manifest().config << ": " << spec.name;
    }
  }
}

TEST_P(SharedHeads, HaveToDivideTheHeads) {
  const Config config = config_of(model());
  const Program program = load(config);
  const Problem given = problem(program, config, {1, 5, kManyHeads, {}, {}, 4});
  try {
    run_raw(program, given);
    FAIL() << "expected a UserError";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "H = 6 and S = 4: expected the number of shared heads to divide the number of heads");
  }
}

TEST(SharedHeadsOption, NamesInputs) {
  Config config;
  config.shared = {"k", "x"};
  for (const int chunk : {0, 1}) {
    config.chunk = chunk;
    try {
      cuda_text(rwkv7(), config);
      FAIL() << "expected a UserError";
    } catch (const UserError& error) {
      EXPECT_STREQ(error.what(), "--shared: 'rwkv7' has no input 'x'; there are r, w, k, a, b, v");
    }
  }
}

TEST(SharedHeadsOption, IsNeededForSharedHeads) {
  Config config;
  const Program program = Program::load(cuda_text(rwkv7(), config), Target::host);
  const Problem given = random_problem(program.manifest(), {1, 5, 6, {}, {}, 2}, 1);
  EXPECT_THROW(run_raw(program, given), UserError);
}

const Model kSharedModels[] = {
    {"rwkv6", rwkv6, {"r", "w", "k"}},
    {"rwkv7", rwkv7, {"r", "w", "k", "a", "b"}},
    {"gated_delta_net", [] { return recurrence_named("gated_delta_net"); }, {"r", "k", "gate"}}};

INSTANTIATE_TEST_SUITE_P(Models, SharedHeads,
                         testing::Combine(testing::Values(Target::host, Target::cuda),
                                          testing::ValuesIn(kSharedModels)),
                         name_of_case);

}  // namespace
}  // namespace wkvc::test
