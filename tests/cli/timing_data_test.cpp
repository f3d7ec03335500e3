// Tensors that bench and tune time kernels on.
#include "checking/values/timing_data.h"

#include <gmock/gmock.h>

#include <cmath>

#include "checking/execute.h"
#include "checking/values/magnitudes.h"
#include "checking/values/repeated.h"
#include "codegen/compiler.h"
#include "runtime/manifest/joint_manifest.h"
#include "runtime/tensor/safetensors.h"
#include "tests/cli/command.h"
#include "tests/runtime/expect_error.h"

namespace wkvc::test {
namespace {

using ::testing::HasSubstr;

HostTensor counted(std::vector<std::int64_t> shape) {
  HostTensor tensor(DType::f32, std::move(shape));
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i));
  return tensor;
}

// The element of `small` that stands at flat index i of a tensor of another shape.
double expected(const HostTensor& small, const std::vector<std::int64_t>& shape, std::size_t i) {
  std::size_t from = 0, step = 1;
  for (std::size_t d = shape.size(); d > 0; --d) {
    const auto extent = static_cast<std::size_t>(shape[d - 1]), own = static_cast<std::size_t>(small.shape()[d - 1]);
    from += i % extent % own * step;
    i /= extent;
    step *= own;
  }
  return small.get(from);
}

TEST(Repeated, GoesOnAndIsCutInEveryDimension) {
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> pairs{
      {{1, 4, 2}, {2, 6, 5}},        // numbers of tokens: the last dimension is of heads
      {{1, 3, 2, 4}, {2, 5, 3, 4}},  // vectors
      {{2, 5, 3}, {1, 7, 2}},        // cut and repeated
      {{3}, {8}},
      {{3, 4}, {5, 4}},
  };
  for (const auto& [small_shape, shape] : pairs) {
    const HostTensor small = counted(small_shape), large = repeated(small, shape);
    EXPECT_EQ(large.shape(), shape);
    for (std::size_t i = 0; i < large.size(); ++i) EXPECT_EQ(large.get(i), expected(small, shape, i)) << i;
  }
}

class Timed : public CommandTest {
 protected:
  // Guarded kernels of both passes and what they are timed on.
  struct Kernels {
    explicit Kernels(const std::string& rec_text)
        : module(rec::parse(rec_text, "rec", context)),
          text(lower_to({Stage::rec, rec_text}, Stage::cuda, config())),
          manifest(joint_manifest(manifests_from(text))) {}

    static Config config() {
      Config config;
      config.chunk = 16;
      config.pass = "both";
      config.scales = config.backward_scales = "guarded";
      return config;
    }

    mlir::MLIRContext context;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    std::string text;
    Manifest manifest;

    TimingData data(LaunchSize size, const std::optional<std::string>& file = {}) {
      return timing_data(rec::recurrence_of(*module), manifest, size, file);
    }
    std::vector<Refusals> refusals(const TimingData& data, LaunchSize size) const {
      Case values{size, {}};
      for (const TensorSpec& spec : manifest.tensors)
        if (!is_internal(spec.role)) values.tensors[spec.name] = tensor_of(data, spec, manifest, size);
      std::vector<Refusals> found;
      executed(Program::load(text, Target::host), values, &found);
      return found;
    }
    std::string magnitudes(const TimingData& data) {
      return magnitudes_text(rec::recurrence_of(*module), manifest, data.values);
    }
  };

  std::string rec_of(const std::string& program, const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"emit"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--stage", "rec"});
    const Outcome printed = finish(start(program, all));
    EXPECT_EQ(printed.status, 0) << printed.err;
    return printed.out;
  }
};

// More heads and tokens than are drawn. Layers give unit keys under a delta rule, mild decays and gates from 0 to 1.
TEST_F(Timed, InputsFollowFromTheRecurrence) {
  Kernels kernels(rec_of(WKVC_BENCH_RECURRENCES, {"gated_delta_net", "--head", "16"}));
  const LaunchSize size{2, 600, 20};
  const TimingData data = kernels.data(size);
  EXPECT_EQ(data.origin, "drawn as layers give them, 1,512,8 repeated to 2,600,20");
  for (const TensorSpec& spec : kernels.manifest.tensors) {
    if (spec.role != Role::input) continue;
    const HostTensor tensor = tensor_of(data, spec, kernels.manifest, size);
    const double least = spec.name == "g"      ? -0.37
                         : spec.name == "beta" ? 0
                                               : -10,
                 most = spec.name == "g"      ? 0
                        : spec.name == "beta" ? 1
                                              : 10;
    for (std::size_t i = 0; i < tensor.size(); ++i)
      ASSERT_TRUE(least <= tensor.get(i) && tensor.get(i) <= most) << spec.name << " " << i << ": " << tensor.get(i);
    if (spec.name != "k") continue;
    for (std::size_t row = 0; row < tensor.size(); row += 16) {
      double norm = 0;
      for (std::size_t i = row; i < row + 16; ++i) norm += tensor.get(i) * tensor.get(i);
      ASSERT_NEAR(norm, 1, 0.02) << row;
    }
  }
}

// No block refuses what a recurrence is timed on.
TEST_F(Timed, GuardsHold) {
  const std::vector<std::pair<std::string, std::string>> recurrences{{WKVC_COMMAND, "rwkv7"},
                                                                     {WKVC_COMMAND, "rwkv6"},
                                                                     {WKVC_BENCH_RECURRENCES, "kda"},
                                                                     {WKVC_BENCH_RECURRENCES, "mamba2"},
                                                                     {WKVC_BENCH_RECURRENCES, "gated_delta_net"}};
  const LaunchSize size{1, 40, 9};
  for (const auto& [program, name] : recurrences) {
    Kernels kernels(rec_of(program, {name, "--head", name == "gated_delta_net" ? "128" : "64"}));
    const std::vector<Refusals> refusals = kernels.refusals(kernels.data(size), size);
    EXPECT_FALSE(refusals.empty()) << name;
    for (const Refusals& kernel : refusals) {
      EXPECT_EQ(kernel.blocks, 9) << name << " " << kernel.tensor;
      EXPECT_EQ(kernel.refused, 0) << name << " " << kernel.tensor;
    }
  }
}

TEST_F(Timed, TensorsOfAFileAreRepeatedOrCut) {
  Kernels kernels(rec_of(WKVC_COMMAND, {"rwkv7"}));
  const LaunchSize size{1, 40, 3};
  const TimingData data = kernels.data(size, activations);
  EXPECT_FALSE(data.drawn);
  EXPECT_THAT(data.origin, HasSubstr("rwkv7_layer1_head0.safetensors, "));
  EXPECT_THAT(data.origin, HasSubstr(" to 1,40,3"));
  const HostTensor given = read_safetensors(activations, Names{"k"}).at("k");
  const auto spec = std::ranges::find(kernels.manifest.tensors, std::string("k"), &TensorSpec::name);
  const HostTensor k = tensor_of(data, *spec, kernels.manifest, size);
  for (std::size_t i = 0; i < k.size(); ++i) ASSERT_EQ(k.get(i), expected(given, k.shape(), i)) << i;
}

// Keys a thousand times smaller than layers give: said are the kernel, the input and what it needs.
TEST_F(Timed, WhyBlocksRefuseIsSaid) {
  Kernels kernels(rec_of(WKVC_COMMAND, {"rwkv7", "--head", "16"}));
  const LaunchSize size{1, 40, 2};
  TimingData data = kernels.data(size);
  HostTensor& k = data.values.tensors.at("k");
  for (std::size_t i = 0; i < k.size(); ++i) k.set(i, k.get(i) / 1000);
  const std::vector<Refusals> refusals = kernels.refusals(data, size);
  ASSERT_NE(refusing_many(refusals), nullptr);
  const std::string text = warning_text(refusals, kernels.magnitudes(data));
  EXPECT_THAT(text, HasSubstr("2 of 2 blocks (forward_refused)"));
  EXPECT_THAT(text, HasSubstr("a head goes from 0.000"));
  EXPECT_THAT(text, HasSubstr("('k', batch 0, head "));
}

TEST(Refusing, MoreThanATenth) {
  EXPECT_EQ(refusing_many(std::vector<Refusals>{{"a", 1, 10}, {"b", 0, 0}}), nullptr);
  const std::vector<Refusals> many{{"a", 0, 10}, {"b", 2, 19}};
  EXPECT_EQ(refusing_many(many), &many[1]);
}

}  // namespace
}  // namespace wkvc::test
