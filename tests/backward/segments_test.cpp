// Gradients of segments side by side, and of states that are saved every so many tokens.
#include <gtest/gtest.h>

#include "dsl/builtin.h"
#include "tests/backward/backward.h"
#include "tests/backward/problems.h"

namespace wkvc::test {
namespace {

// Every so many tokens; those between are computed again.
TEST_P(Backward, SavedStates) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    for (int interval : {16, 64, 128}) {
      Config config = config_of("f16", "bf16");
      config.save_every = interval;
      const Subject at = subject(definition, config);
      for (std::int64_t tokens : {17, 150}) at.check({2, tokens, 2});
    }
  }
}

// Gradients through the state lose what its rounding loses.
TEST_P(Backward, SavedStatesInBf16) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = config_of("f16", "bf16");
    config.saved = "bf16";
    const Subject at = subject(definition, config);
    at.expect_within(at.problem({2, 100, 2}), 2);
  }
}

// Segments of a sequence side by side, some of them empty, whole groups of saved states each.
TEST_P(Backward, Segments) {
  for (const auto& [definition, operands] :
       {std::pair{rwkv7(), kDtypes[0]}, {rwkv7(), kDtypes[2]}, {rwkv6(), kDtypes[0]}}) {
    Config config = operands;
    config.segments = config.mma == "f16" ? 2 : 5;
    config.save_every = 32;
    const Subject at = subject(definition, config);
    for (std::int64_t tokens : {1, 17, 63, 300}) at.check({2, tokens, tokens < 15 ? 15 : 2}, lower_decays);
  }
}

// Each pass in as many as suit it; backward summaries in teams.
TEST_P(Backward, SegmentsOfItsOwn) {
  for (const auto& [forward, backward] : {std::pair{1, 3}, {4, 1}, {2, 5}}) {
    Config config = kDtypes[0];
    config.segments = forward;
    config.backward_segments = backward;
    config.save_every = 32;
    config.backward_teams = 2;
    for (const Definition& definition : {rwkv7(), rwkv6()})
      subject(definition, config).check({1, 170, 2}, lower_decays);
  }
}

// Blocks of different segments run at once on a GPU, though not on the host.
TEST(Segments, HaveWorkspacesOfTheirOwn) {
  Config config = config_of("f16", "bf16");
  config.segments = 7;
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    for (const Manifest& manifest : manifests_from(cuda_text(definition, config))) {
      for (const TensorSpec& spec : manifest.tensors) {
        if (spec.role != Role::workspace) continue;
        EXPECT_EQ(spec.dims.at(2), "7") << manifest.kernel << ": " << spec.name;
      }
    }
  }
}

// What a segment's summary carries beside its map may be far smaller than the map.
TEST_P(Backward, SegmentsOfIncomingGradientsOfAnyMagnitude) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config = config_of("f16", "bf16");
    config.segments = 3;
    const Subject at = subject(definition, config);
    for (double factor : {1e-9, 1e3}) {
      at.check({1, 100, 2}, [&](Problem& problem) {
        for (const char* name : {"do", "dfinal_state"}) scale(problem.values[name], factor);
      });
    }
  }
}

}  // namespace
}  // namespace wkvc::test
