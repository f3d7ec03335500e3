// The parts of the command that can be called without it.
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/config.h"
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

TEST(Options, Values) {
  EXPECT_EQ(parse_sram("232448"), 232448);
  EXPECT_EQ(parse_sram("227KiB"), 232448);
  EXPECT_EQ(parse_sram("100 KB"), 100000);
  EXPECT_EQ(parse_sram("1B"), 1);
  EXPECT_EQ(parse_chunk("auto"), 0);
  EXPECT_EQ(parse_chunk("32"), 32);
  Config config;
  parse_head("64,128", config);
  EXPECT_EQ(config.key_dim, 64);
  EXPECT_EQ(config.value_dim, 128);
  parse_blocks("3", config);
  EXPECT_EQ(config.blocks, 3);
  EXPECT_EQ(config.backward_blocks, 3);
  parse_blocks("auto,2", config);
  EXPECT_EQ(config.blocks, 0);
  EXPECT_EQ(config.backward_blocks, 2);
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

TEST(Options, OfTheBackwardPass) {
  EXPECT_EQ(parse_save_every("auto"), 0);
  EXPECT_THROW(parse_save_every("0"), UserError);
  EXPECT_EQ(parse_save_every("128"), 128);
  EXPECT_EQ(parse_gradients("all"), std::vector<std::string>{});
  EXPECT_EQ(parse_gradients("r,w"), (std::vector<std::string>{"r", "w"}));
  ConfigOptions options;
  EXPECT_EQ(options.parse().pass, "forward");
  options.pass = "both";
  options.saved = "bf16";
  options.save_every = "32";
  options.gradients = "k";
  const Config config = options.parse();
  EXPECT_EQ(config.pass, "both");
  EXPECT_EQ(config.saved, "bf16");
  EXPECT_EQ(config.save_every, 32);
  EXPECT_EQ(config.gradients, std::vector<std::string>{"k"});
  EXPECT_EQ(settled_options(options.parse(), Stage::chunk), std::vector<std::string>{});
  EXPECT_EQ(settled_options(options.parse(), Stage::cuda),
            (std::vector<std::string>{"--save-every", "--saved", "--grad"}));
}

TEST(Options, OfTeams) {
  Config config;
  auto parsed = [&](const char* text) {
    parse_teams(text, config);
    return std::pair(config.teams, config.backward_teams);
  };
  EXPECT_EQ(parsed("auto"), std::pair(0, 0));
  EXPECT_EQ(parsed("4"), std::pair(4, 0));
  EXPECT_EQ(parsed("1,2"), std::pair(1, 2));
  for (const char* wrong : {"0", "-1", "16", "2.0", "", "many", "2,", "1,2,3"})
    EXPECT_THROW(parsed(wrong), UserError) << wrong;
  ConfigOptions options;
  options.teams = "2";
  EXPECT_EQ(options.parse().teams, 2);
  EXPECT_EQ(settled_options(options.parse(), Stage::warp), std::vector<std::string>{"--teams"});
}

TEST(Options, OfRounds) {
  ConfigOptions options;
  options.teams = "2";
  for (const char* wrong : {"0", "-1", "3", "2.0", "", "2,2"}) {
    options.rounds = wrong;
    EXPECT_THROW(options.parse(), UserError) << wrong;
  }
  options.rounds = "2";
  EXPECT_EQ(options.parse().rounds, 2);
  EXPECT_EQ(settled_options(options.parse(), Stage::warp), (std::vector<std::string>{"--teams", "--rounds"}));
  options.rounds = "auto";
  EXPECT_EQ(options.parse().rounds, 0);
}

TEST(Options, OfScales) {
  ConfigOptions options;
  for (const char* wrong : {"", "never", "Always"}) {
    options.scales = wrong;
    EXPECT_THROW(options.parse(), UserError) << wrong;
  }
  options.scales = "guarded";
  EXPECT_EQ(options.parse().scales, "guarded");
  EXPECT_EQ(settled_options(options.parse(), Stage::warp), std::vector<std::string>{"--scales"});
  EXPECT_EQ(settled_options(options.parse(), Stage::chunk), std::vector<std::string>{});
}

TEST(Options, OfClusters) {
  ConfigOptions options;
  options.teams = options.rounds = "2";
  for (const char* wrong : {"0", "-1", "3", "9", "2.0", "", "2,2"}) {
    options.cluster = wrong;
    EXPECT_THROW(options.parse(), UserError) << wrong;
  }
  options.cluster = "2";
  EXPECT_EQ(options.parse().cluster, 2);
  options.cluster = "auto";
  EXPECT_EQ(options.parse().cluster, 0);
}

TEST(Options, OfSegments) {
  Config config;
  const auto parsed = [&](const std::string& text) {
    parse_segments(text, config);
    return std::pair(config.segments, config.backward_segments);
  };
  EXPECT_EQ(parsed("auto"), std::pair(0, 0));
  EXPECT_EQ(parsed("16"), std::pair(16, 0));
  EXPECT_EQ(parsed("1,4"), std::pair(1, 4));
  for (const char* wrong : {"0", "-1", "257", "4.0", "", "many", "4,0", "1,2,3"})
    EXPECT_THROW(parse_segments(wrong, config), UserError) << wrong;
  ConfigOptions options;
  options.segments = "4";
  EXPECT_EQ(options.parse().segments, 4);
  EXPECT_EQ(settled_options(options.parse(), Stage::warp), std::vector<std::string>{"--segments"});
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
