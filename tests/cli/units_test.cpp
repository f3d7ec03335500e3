// The parts of the command that can be called without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checking/occupancy.h"
#include "checking/values/cases.h"
#include "checking/values/draw.h"
#include "codegen/config/options.h"
#include "dsl/build.h"
#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/cli/command.h"
#include "tests/runtime/expect_error.h"
#include "tools/commands/lockfile_option.h"
#include "tools/commands/report.h"

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

// A lockfile of the user's is beside what comes with wkvc, whose entries it replaces.
TEST(LockfileOptions, AddToWhatComesWithWkvc) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "own.lock.json";
  LockEntry own = shipped_lockfile().entries().front();
  own.config.blocks = own.config.blocks == 3 ? 2 : 3;
  Lockfile lockfile;
  lockfile.merge(own);
  lockfile.write(path);
  LockfileOption option;
  option.path = path;
  const Lockfile found = option.lockfile().value();
  EXPECT_EQ(found.entries().size(), shipped_lockfile().entries().size());
  const auto entry = std::ranges::find_if(found.entries(), [&](const LockEntry& it) { return same_subject(it, own); });
  ASSERT_NE(entry, found.entries().end());
  EXPECT_EQ(entry->config.blocks, own.config.blocks);
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

// A definition says what its use does not: keys that it divides by their norm itself, and a gate from 1 to 2.
Definition saying_more() {
  return recurrence("saying_more", [](Recurrence& op) {
    const Dim K = op.key_dim(16), V = op.value_dim(16);
    auto k = op.input("k", K, bf16).drawn(Drawn::normal);
    auto v = op.input("v", V, bf16).drawn(Drawn::normalised);
    auto gate = op.input("gate", scalar, f32).in(1, 2).drawn(Drawn::uniform);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    op.update(S, S * 0.5f + outer(gate * cast<f32>(v), k));
    op.output("o", dot(S, k), bf16);
  });
}

TEST(Draw, DefinitionsSayMore) {
  EXPECT_EQ(drawn(saying_more(), "k"), Distribution::normal);
  EXPECT_EQ(drawn(saying_more(), "v"), Distribution::unit_norm);
  EXPECT_EQ(drawn(saying_more(), "gate"), Distribution::uniform);
  const std::string text = rec_text(saying_more());
  EXPECT_NE(text.find("%gate = rec.input \"gate\" dim 1 in [1.0, 2.0] : tensor<1xf32> {drawn = \"uniform\"}"),
            std::string::npos)
      << text;
  mlir::MLIRContext context;
  const auto module = rec::parse(text, "text", context);
  EXPECT_EQ(rec::print(*module), text);
  Manifest manifest;
  manifest.key_dim = manifest.value_dim = 16;
  manifest.tensors.push_back({"gate", Role::input, DType::f32, {"B", "T", "H"}});
  const HostTensor gate = random_case(rec::recurrence_of(*module), manifest, {1, 500, 2}, 3).tensors.at("gate");
  double sum = 0;
  for (std::size_t i = 0; i < gate.size(); ++i) {
    EXPECT_TRUE(1 <= gate.get(i) && gate.get(i) <= 2) << gate.get(i);
    sum += gate.get(i);
  }
  EXPECT_NEAR(sum / static_cast<double>(gate.size()), 1.5, 0.05);
}

TEST(Draw, OtherWordsAreMistakes) {
  std::string text = rec_text(saying_more());
  mlir::MLIRContext context;
  text.replace(text.find("uniform"), 7, "gaussian");
  expect_error([&] { rec::parse(text, "text", context); },
               {"drawn = \"gaussian\"", "expected normal, normalised or uniform"});
  const Definition computed = recurrence("computed", [](Recurrence& op) {
    const Dim K = op.key_dim(16);
    cast<f32>(op.input("k", K, bf16)).drawn(Drawn::normal);
  });
  expect_error([&] { rec_text(computed); }, {"'drawn'", "expected an input or a parameter"});
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

// The tensor that a recurrence has one input of, a log decay of at least -5.
Case decays_drawn(Decays decays) {
  Manifest manifest;
  manifest.key_dim = manifest.value_dim = 64;
  manifest.tensors.push_back({"g", Role::input, DType::f32, {"B", "T", "H", "K"}});
  mlir::MLIRContext context;
  const auto module = build(recurrence("decaying",
                                       [](Recurrence& op) {
                                         Dim K = op.key_dim(64), V = op.value_dim(64);
                                         auto g = op.input("g", K, f32).in(-5, 0), k = op.input("k", K, f32);
                                         op.compute(f32);
                                         auto S = op.state("S", V, K, f32);
                                         op.update(S, S * diag(exp(g)));
                                         op.output("o", dot(S, k), f32);
                                       }),
                            context);
  return random_case(rec::recurrence_of(*module), manifest, {1, 50, 2}, 3, decays);
}

TEST(RandomCase, DrawsSteepDecaysFromAllOfADeclaredRange) {
  const HostTensor mild = decays_drawn(Decays::mild).tensors.at("g"),
                   steep = decays_drawn(Decays::steep_too).tensors.at("g");
  double least = 0;
  std::size_t same = 0;
  for (std::size_t i = 0; i < steep.size(); ++i) {
    EXPECT_GE(mild.get(i), -std::exp(-1.0));
    EXPECT_LE(steep.get(i), 0);
    EXPECT_GE(steep.get(i), -5);
    EXPECT_TRUE(i % 8 != 7 || steep.get(i) <= -0.37 + 1e-6) << i;
    least = std::min(least, steep.get(i));
    same += steep.get(i) == mild.get(i) ? 1 : 0;
  }
  EXPECT_LT(least, -4.5);
  EXPECT_GT(same, steep.size() * 3 / 5);
  EXPECT_LT(same, steep.size() * 9 / 10);
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
