// The emitted nest for cuda, run lane by lane on the CPU, beside the float64 recurrence: descriptors of wgmma, boxes of
// tensor maps, mbarriers and matrix moves are those of the GPU.
#include <gtest/gtest.h>

#include <cstring>

#include "codegen/compiler.h"
#include "dsl/builtin.h"
#include "runtime/base/dynamic_library.h"
#include "runtime/launch/launch_arguments.h"
#include "tests/nest/texts.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

constexpr double kBound = 1.8e-3;

using Mapped = MappedArgs<9, 4>;
using Run = const char*(const void* arguments, unsigned blocks, int threads, long long shared_bytes);

// The words that tests/templates/lanes reads: data, extents, strides in bytes, and the rows of a box.
BoxMap map_of(const TensorArg& tensor, const Manifest& manifest, const LaunchSize& size) {
  constexpr long long bytes = 2;
  const auto word = [](long long x) { return static_cast<unsigned long long>(x); };
  return {{reinterpret_cast<unsigned long long>(tensor.data), word(manifest.key_dim), word(size.heads),
           word(size.tokens), word(size.batches), word(tensor.head * bytes), word(tensor.row * bytes),
           word(tensor.batch * bytes), word(manifest.chunk)}};
}

Mapped arguments_of(const Manifest& manifest, const std::vector<Tensor>& tensors, const LaunchSize& size) {
  const LaunchPlan plan(manifest);
  const LaunchArguments arguments(plan, tensors, size);
  Mapped mapped{};
  std::memcpy(&mapped.launch, arguments.bytes().data(), arguments.bytes().size());
  for (std::size_t i = 0; i < manifest.maps.size(); ++i)
    for (std::size_t n = 0; n < manifest.tensors.size(); ++n)
      if (manifest.tensors[n].name == manifest.maps[i]) mapped.map[i] = map_of(mapped.launch.tensor[n], manifest, size);
  return mapped;
}

// Returns the tensors of a launch after it, by name.
Values run_in_lanes(const Manifest& manifest, const Problem& problem) {
  std::vector<HostTensor> memory;
  std::vector<Layout> layouts;
  for (const TensorSpec& spec : manifest.tensors) {
    layouts.push_back(layout_of(spec, manifest, problem.size));
    memory.push_back(poisoned(spec.dtype, layouts.back()));
    if (problem.values.contains(spec.name)) write(memory.back(), layouts.back(), problem.values.at(spec.name));
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < memory.size(); ++i) tensors.push_back(layouts[i].view(memory[i].view()));
  const Mapped arguments = arguments_of(manifest, tensors, problem.size);
  std::string why_not;
  const DynamicLibrary library = DynamicLibrary::open(WKVC_NEST_LANES, &why_not);
  Run* run = nullptr;
  library.find("nest_lanes_run", run);
  const char* error = run(&arguments, static_cast<unsigned>(problem.size.batches * problem.size.heads),
                          32 * manifest.warps, manifest.shared_bytes);
  EXPECT_EQ(error, nullptr) << error;
  Values values;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    EXPECT_TRUE(manifest.tensors[i].dims[1] != "T" || !written_past_tail(memory[i], layouts[i]));
    values[manifest.tensors[i].name] = read(memory[i], layouts[i]);
  }
  return values;
}

std::string recurrence() {
  Config config;
  config.key_dim = config.value_dim = 128;
  return rec_text(gated_delta_net(), config);
}

Manifest manifest_of_nest() {
  return manifest_from(lower_to(source_from(text_named("gdn_c64_forward")), Stage::cuda, {}));
}

TEST(NestLanes, FollowTheRecurrence) {
  const std::string rec = recurrence();
  const Manifest manifest = manifest_of_nest();
  for (const std::int64_t tokens : {1, 64, 330}) {
    const Problem problem = random_problem(manifest, rec, {2, tokens, 2}, 5);
    const Values reference = reference_of(manifest, rec, problem.size, rounded(manifest, problem));
    const Values results = run_in_lanes(manifest, problem);
    for (const auto& [name, expected] : reference)
      EXPECT_LE(relative_error(results.at(name), expected), kBound) << name << ", T " << tokens;
    EXPECT_EQ(results.at("forward_refused"), std::vector<double>(4)) << "T " << tokens;
  }
}

// The second head's values are too small, as a sample shows, or one of them is too large.
TEST(NestLanes, RefuseWhatF16DoesNotHold) {
  const Manifest manifest = manifest_of_nest();
  for (const double large : {0., 1e6}) {
    Problem problem = random_problem(manifest, recurrence(), {1, 130, 2}, 5);
    std::vector<double>& v = problem.values.at("v");
    for (std::size_t i = 0; i < v.size(); ++i)
      if (i / 128 % 2 == 1) v[i] *= large == 0 ? 1e-6 : 1;
    v[(99 * 2 + 1) * 128 + 100] += large;
    EXPECT_EQ(run_in_lanes(manifest, problem).at("forward_refused"), (std::vector<double>{0, 1})) << large;
  }
}

}  // namespace
}  // namespace wkvc::test
