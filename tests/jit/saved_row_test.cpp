// The formula of saved memory against the shapes of saved tensors, under random options and sizes.
#include "runtime/launch/saved_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "codegen/compiler.h"
#include "dsl/builtin.h"
#include "dsl/registry.h"
#include "runtime/error.h"
#include "runtime/launch/launch_size.h"
#include "runtime/manifest/joint_manifest.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {
namespace {

using Random = std::mt19937_64;

template <class T>
T one_of(std::initializer_list<T> values, Random& random) {
  return values.begin()[random() % values.size()];
}

Config drawn_config(Random& random) {
  Config config{.key_dim = 16 * one_of({1, 2, 4, 8}, random), .value_dim = 16 * one_of({1, 2, 3, 4, 6, 8}, random)};
  config.pass = "both";
  config.io = one_of({"f16", "bf16", "f32"}, random);
  config.mma = one_of({"f16", "bf16", "f32", "bf16x3"}, random);
  config.chunk = one_of({0, 16, 32}, random);
  config.parts = one_of({0, 1, 2, 3, 4, 6}, random);
  config.backward_teams = one_of({0, 0, 1, 2}, random);
  config.segments = one_of({0, 0, 2}, random);
  config.backward_segments = one_of({0, 0, 3}, random);
  config.save_every = one_of({0, 0, 16, 32, 64, 96}, random);
  config.saved = one_of({"", "f16", "bf16", "f32"}, random);
  config.scales = one_of({"", "always", "guarded"}, random);
  return config;
}

// Returns the manifest of a recurrence's kernels; nothing where there are none with this configuration.
std::optional<Manifest> manifest_of(const Definition& definition, const Config& config) {
  try {
    return joint_manifest(manifests_from(lower_to(rec_source(definition, config), Stage::cuda, config)));
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// Returns the bytes of a tensor as wkvc_saved_info tells callers to count them.
std::int64_t by_formula(const SavedRow& row, const LaunchSize& size) {
  const std::int64_t rows = size.map ? size.tokens / row.tokens + (row.tokens > 1 ? size.map->count : 0)
                                     : size.batches * ((size.tokens + row.tokens - 1) / row.tokens);
  return rows * size.heads * row.bytes;
}

LaunchSize drawn_size(Random& random) {
  const auto up_to = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  LaunchSize size{1 + up_to(4), up_to(300), 1 + up_to(6)};
  if (up_to(1) == 0) return size;
  size.batches = 1;
  size.map = SequenceMap{1 + up_to(5), nullptr, true};
  return size;
}

void expect_formula(const Manifest& manifest, Random& random) {
  for (const TensorSpec& spec : manifest.tensors) {
    if (!is_between_passes(spec.role)) continue;
    for (int i = 0; i < 20; ++i) {
      const LaunchSize size = drawn_size(random);
      EXPECT_EQ(by_formula(saved_row(spec, manifest), size), byte_count(spec.dtype, shape_of(spec, manifest, size)))
          << manifest.config << ": " << spec.name << " of " << size.batches << "," << size.tokens << "," << size.heads;
    }
  }
}

TEST(SavedRows, AreTheShapesOfSavedTensors) {
  Random random(1);
  int lowered = 0, in_parts = 0;
  for (int i = 0; i < 300; ++i) {
    const Config config = drawn_config(random);
    const auto manifest = manifest_of(i % 2 == 0 ? rwkv7() : rwkv6(), config);
    if (!manifest) continue;
    ++lowered;
    in_parts += manifest->parts > 1;
    expect_formula(*manifest, random);
  }
  EXPECT_GT(lowered, 50);
  EXPECT_GT(in_parts, 20);
}

}  // namespace
}  // namespace wkvc
