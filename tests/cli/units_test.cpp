// The parts of the command that can be called without it.
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/rec/Gradient.h"
#include "dsl/build.h"
#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tools/cases.h"
#include "tools/comparison.h"
#include "tools/draw.h"
#include "tools/occupancy.h"
#include "tools/options.h"
#include "tools/report.h"

namespace wkvc {
namespace {

TEST(Options, Shapes) {
  const LaunchSize size = parse_shape("8,4096,64");
  EXPECT_EQ(size.batches, 8);
  EXPECT_EQ(size.tokens, 4096);
  EXPECT_EQ(size.heads, 64);
}

TEST(Occupancy, WhatLimitsIt) {
  EXPECT_EQ(occupancy_of(128, 4, 0).blocks, 4);
  EXPECT_EQ(occupancy_of(128, 4, 0).limit, "registers");
  EXPECT_EQ(occupancy_of(32, 4, 227 * 1024).blocks, 1);
  EXPECT_EQ(occupancy_of(32, 4, 113 * 1024).blocks, 2);
  EXPECT_EQ(occupancy_of(32, 4, 113 * 1024 + 1).limit, "shared memory");
  EXPECT_EQ(occupancy_of(32, 1, 0).blocks, 32);
  EXPECT_EQ(occupancy_of(32, 32, 0).blocks, 2);
  EXPECT_EQ(occupancy_of(32, 32, 0).limit, "registers");  // 1024 threads of 32: both registers and warps are full
}

Distribution drawn(const Definition& definition, const std::string& name) {
  mlir::MLIRContext context;
  const auto module = build(definition, context);
  return draw_of(rec::recurrence_of(*module), name).distribution;
}

TEST(Draw, FollowsTheUse) {
  EXPECT_EQ(drawn(rwkv7(), "w"), Distribution::raw_decay);
  EXPECT_EQ(drawn(rwkv6(), "w"), Distribution::raw_decay);
  EXPECT_EQ(drawn(rwkv7_logw(), "w"), Distribution::log_decay);
  EXPECT_EQ(drawn(rwkv7(), "k"), Distribution::unit_norm);
  EXPECT_EQ(drawn(rwkv7(), "a"), Distribution::unit_norm);
  EXPECT_EQ(drawn(rwkv7(), "b"), Distribution::erasure);
  EXPECT_EQ(drawn(rwkv7(), "v"), Distribution::normal);
  EXPECT_EQ(drawn(rwkv6(), "u"), Distribution::normal);
}

// A decay for the whole head, written as a scalar's factor, and keys whose size is declared.
TEST(Draw, ScalarsAndRanges) {
  const Definition gated = recurrence("gated", [](Recurrence& op) {
    const Dim K = op.key_dim(32), V = op.value_dim(32);
    auto k = op.input("k", K, bf16);
    auto v = op.input("v", V, bf16);
    auto g = op.input("g", scalar, f32), beta = op.input("beta", scalar, f32);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto bounded = cast<f32>(k).in(-0.25, 0.25);
    op.update(S, g * S + outer(v, beta * bounded));
    op.output("o", dot(S, bounded), bf16);
  });
  EXPECT_EQ(drawn(gated, "g"), Distribution::decay);
  EXPECT_EQ(drawn(gated, "beta"), Distribution::unit_interval);
  mlir::MLIRContext context;
  const auto module = build(gated, context);
  EXPECT_EQ(draw_of(rec::recurrence_of(*module), "k").range, (rec::Interval{-0.25, 0.25}));
}

TEST(Cases, NothingIsZeroAndNothingExplodes) {
  Manifest manifest{.op = "rwkv7",
                    .kernel = "x",
                    .config = "",
                    .arch = "sm_90a",
                    .key_dim = 64,
                    .value_dim = 64,
                    .chunk = 16,
                    .warps = 4,
                    .shared_bytes = 0,
                    .tensors = {}};
  for (const char* name : {"r", "w", "k", "a", "b"}) {
    manifest.tensors.push_back({name, Role::input, DType::bf16, {"B", "T", "H", "K"}});
  }
  manifest.tensors.push_back({"initial_state", Role::initial_state, DType::f32, {"B", "H", "V", "K"}});
  manifest.tensors.push_back({"o", Role::output, DType::bf16, {"B", "T", "H", "V"}});
  mlir::MLIRContext context;
  const auto module = build(rwkv7(), context);
  Case drawn = random_case(rec::recurrence_of(*module), manifest, {1, 20, 2}, 3);
  double norm = 0;
  for (std::size_t i = 0; i < 64; ++i) norm += std::pow(drawn.tensors.at("k").get(i), 2);
  EXPECT_NEAR(norm, 1, 0.01);
  for (std::size_t i = 0; i < drawn.tensors.at("w").size(); ++i) {
    EXPECT_GE(drawn.tensors.at("w").get(i), -6);
    EXPECT_LE(drawn.tensors.at("w").get(i), -1);
  }
  EXPECT_NE(drawn.tensors.at("initial_state").get(0), 0);
  EXPECT_TRUE(std::isnan(drawn.tensors.at("o").get(0)));
}

// Kernels of rwkv6 with the tensors they take.
Runnable rwkv6_kernels(Passes passes) {
  Runnable runnable{"", passes, {}};
  runnable.manifest.config = "mma f32";
  runnable.manifest.key_dim = runnable.manifest.value_dim = 64;
  std::vector<TensorSpec>& specs = runnable.manifest.tensors;
  for (const char* name : {"r", "w", "k"}) specs.push_back({name, Role::input, DType::bf16, {"B", "T", "H", "K"}});
  specs.push_back({"v", Role::input, DType::bf16, {"B", "T", "H", "V"}});
  specs.push_back({"u", Role::parameter, DType::bf16, {"H", "K"}});
  return runnable;
}

TEST(Comparison, FewElementsMayRoundBadly) {
  Runnable runnable = rwkv6_kernels(Passes::forward);
  runnable.manifest.tensors.push_back({"o", Role::output, DType::bf16, {"B", "T", "H", "V"}});
  mlir::MLIRContext context;
  const auto module = build(rwkv6(), context);
  const auto bound = [&](DType stored, std::int64_t tokens) {
    runnable.manifest.tensors.back().dtype = stored;
    const Case drawn = random_case(rec::recurrence_of(*module), runnable.manifest, {1, tokens, 1}, 0);
    return compare(rec::recurrence_of(*module), runnable, drawn).at(0).bound;
  };
  EXPECT_EQ(bound(DType::bf16, 15), 0x1p-8);
  EXPECT_EQ(bound(DType::bf16, 16), 1.8e-3);  // 1024 elements
  EXPECT_EQ(bound(DType::f16, 15), 0x1p-11);
  EXPECT_EQ(bound(DType::f16, 16), 2.5e-4);
  EXPECT_EQ(bound(DType::f32, 1), 1e-5);
}

// As many elements as anywhere, but one token has nearly all of the norm.
TEST(Comparison, FewElementsMayHaveTheNorm) {
  Runnable runnable = rwkv6_kernels(Passes::forward);
  runnable.manifest.tensors.push_back({"o", Role::output, DType::bf16, {"B", "T", "H", "V"}});
  mlir::MLIRContext context;
  const auto module = build(rwkv6(), context);
  Case drawn = random_case(rec::recurrence_of(*module), runnable.manifest, {1, 100, 1}, 0);
  HostTensor& r = drawn.tensors.at("r");
  const auto bound = [&] { return compare(rec::recurrence_of(*module), runnable, drawn).at(0).bound; };
  EXPECT_EQ(bound(), 1.8e-3);
  for (std::size_t i = 0; i < 64; ++i) r.set(64 * 50 + i, 1000 * r.get(64 * 50 + i));
  EXPECT_EQ(bound(), 0x1p-8);
}

TEST(Comparison, StatesSavedIn16Bits) {
  Runnable runnable = rwkv6_kernels(Passes::backward);
  std::vector<TensorSpec>& specs = runnable.manifest.tensors;
  specs.push_back({"do", Role::output_gradient, DType::bf16, {"B", "T", "H", "V"}});
  specs.push_back({"dr", Role::input_gradient, DType::f32, {"B", "T", "H", "K"}});
  specs.push_back({"saved_states", Role::saved_states, DType::f32, {"B", "H", "V", "K"}});
  mlir::MLIRContext context;
  const auto module = build(rwkv6(), context);
  const auto bound = [&](DType saved, const char* mma) {
    specs.back().dtype = saved;
    runnable.manifest.config = fmt::format("mma {}", mma);
    const Case drawn = random_case(rec::recurrence_of(*module), runnable.manifest, {1, 5, 1}, 0);
    return compare(rec::recurrence_of(*module), runnable, drawn).at(0).bound;
  };
  EXPECT_EQ(bound(DType::f32, "f16"), 2e-3);
  EXPECT_EQ(bound(DType::bf16, "f16"), 2.5e-3);
  EXPECT_EQ(bound(DType::bf16, "bf16"), 4.5e-3);
  EXPECT_EQ(bound(DType::f16, "f16"), 2e-3);
  EXPECT_EQ(bound(DType::f16, "f32"), 3.2e-4);
}

TEST(Comparison, MissingResults) {
  Runnable runnable = rwkv6_kernels(Passes::both);
  runnable.manifest.tensors.push_back({"o", Role::output, DType::bf16, {"B", "T", "H", "V"}});
  runnable.manifest.tensors.push_back({"dr", Role::input_gradient, DType::bf16, {"B", "T", "H", "K"}});
  mlir::MLIRContext context;
  const auto module = build(rwkv6(), context);
  const auto missing = [&](Passes passes, const std::vector<std::string>& gradients) {
    runnable.passes = passes;
    return missing_results(rec::recurrence_of(*module), runnable, gradients);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(missing(Passes::forward, {}), Names{"final_state"});
  EXPECT_EQ(missing(Passes::backward, {}), (Names{"dw", "dk", "dv", "du", "dinitial_state"}));
  EXPECT_EQ(missing(Passes::both, {"r", "u"}), (Names{"final_state", "du", "dinitial_state"}));
  EXPECT_THROW(missing(Passes::both, {"x"}), UserError);
}

// A parameter's gradient, and an output whose gradient comes in under its name.
TEST(Comparison, GradientsOfParameters) {
  Runnable runnable = rwkv6_kernels(Passes::backward);
  std::vector<TensorSpec>& specs = runnable.manifest.tensors;
  specs.push_back({"do", Role::output_gradient, DType::bf16, {"B", "T", "H", "V"}});
  specs.push_back({"du_parts", Role::workspace, DType::f32, {"B", "H", "K"}});
  specs.push_back({"du", Role::parameter_gradient, DType::f32, {"H", "K"}});
  mlir::MLIRContext context;
  const auto module = build(rwkv6(), context);
  Case drawn = random_case(rec::recurrence_of(*module), runnable.manifest, {2, 5, 3}, 1);
  EXPECT_FALSE(drawn.tensors.contains("du_parts"));
  EXPECT_NE(drawn.tensors.at("do").get(0), 0);
  EXPECT_FALSE(compare(rec::recurrence_of(*module), runnable, drawn)[0].passed());  // still NaN

  rec::Tensors inputs;
  for (const auto& [name, tensor] : drawn.tensors)
    for (std::size_t i = 0; i < tensor.size(); ++i) inputs[name].push_back(tensor.get(i));
  const auto expected =
      rec::differentiate(rec::recurrence_of(*module), {2, 5, 3}, inputs, {}, {{"o", inputs.at("do")}}).inputs.at("u");
  for (std::size_t i = 0; i < expected.size(); ++i) drawn.tensors.at("du").set(i, expected[i]);
  const std::vector<ResultError> errors = compare(rec::recurrence_of(*module), runnable, drawn);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].tensor, "du");
  EXPECT_LT(errors[0].error, 1e-7);
  EXPECT_EQ(errors[0].bound, 2e-5);
}

TEST(Report, TablesAndNesting) {
  const auto json = nlohmann::ordered_json::parse(R"({"op":"x","rows":[{"a":1,"b":"yy"},{"a":22}],"in":{"c":null}})");
  EXPECT_EQ(readable(json),
            "op               x\n"
            "rows\n"
            "  a   b\n"
            "  1   yy\n"
            "  22\n"
            "in\n"
            "  c                -\n");
}

}  // namespace
}  // namespace wkvc
