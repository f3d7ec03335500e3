// What a configuration overrides, and what it may not.
#include "dsl/builtin.h"
#include "tests/expect_error.h"

namespace wkvc::test {
namespace {

Definition decay() {
  return recurrence("decay", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto w = op.input("w", K, f32);
    auto v = op.input("v", V, bf16);
    auto u = op.parameter("u", K, bf16);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    op.update(S, S * diag(exp(w)) + outer(v, k));
    op.output("o", dot(S, r), bf16);
    op.output("s", dot(cast<f32>(u), cast<f32>(k)), f32);
  });
}

TEST(Config, OverridesTheHead) {
  const std::string text = rec_text(
      decay(), {.key_dim = 32, .value_dim = 128, .io = {}, .mma = {}, .state = {}, .saved = {}, .gradients = {}});
  expect_contains(text, "{key_dim = 32, value_dim = 128,");
  expect_contains(text, "%S = rec.state \"S\" : tensor<128x32xf32>");
}

Config with_io(const std::string& io) {
  Config config;
  config.io = io;
  return config;
}

TEST(Config, IoRestoresTensorsWithTheDtypeOfTheFirstInput) {
  const std::string text = rec_text(decay(), with_io("f16"));
  expect_contains(text, "%k = rec.input \"k\" dim K : tensor<64xf16>");
  expect_contains(text, "%u = rec.parameter \"u\" dim K : tensor<64xf16>");
  expect_contains(text, "%w = rec.input \"w\" dim K : tensor<64xf32>");
  expect_contains(text, "rec.output \"o\" %o dim V : tensor<64xf32> as f16");
  expect_contains(text, "rec.output \"s\" %s dim 1 : tensor<1xf32> as f32");
  expect_contains(text, "%k_f32 = rec.cast %k : tensor<64xf16> to tensor<64xf32>");
}

TEST(Config, IoF32NeedsNoCasts) {
  const std::string text = rec_text(decay(), with_io("f32"));
  EXPECT_EQ(text.find("rec.cast"), std::string::npos);
  expect_contains(text, "%s = rec.dot %u, %k : tensor<64xf32>, tensor<64xf32> -> tensor<1xf32>");
}

TEST(Config, IoNeverTurnsF32ArithmeticInto16Bits) {
  const auto definition = recurrence("f32_first", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto w = op.input("w", K, f32);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    op.update(S, S * diag(exp(w)));
    op.output("o", dot(S, w), f32);
  });
  expect_contains(user_error_of([&] { rec_text(definition, with_io("bf16")); }), "dtypes are never promoted");
}

TEST(Config, OverridesComputeAndBudget) {
  Config config;
  config.mma = "f32";
  config.sram = 100000;
  expect_contains(rec_text(decay(), config), "compute = \"f32\", sram_budget = 100000}");
}

std::string error_of(const Config& config) {
  return user_error_of([&] { rec_text(decay(), config); });
}

TEST(Config, IsChecked) {
  expect_contains(error_of(with_io("fp8")), "io is 'fp8'; expected bf16, f16 or f32");
  Config config;
  config.mma = "int8";
  expect_contains(error_of(config), "decay: mma is 'int8'; expected bf16, bf16x3, f16 or f32");
  for (const char* mma : {"tf32", "bf16x2"}) {  // which no kernel has
    config.mma = mma;
    expect_contains(error_of(config), "expected bf16, bf16x3, f16 or f32");
  }
  config = {};
  config.sram = 232449;
  expect_contains(error_of(config), "sram is 232449 bytes; expected 1 to 232448");
  config.sram = -1;
  expect_contains(error_of(config), "sram is -1 bytes");
  config = {};
  config.key_dim = 24;
  expect_contains(error_of(config), "a head of 24 keys is not supported; expected a multiple of 16 from 16 to 256");
  config.key_dim = -64;
  expect_contains(error_of(config), "a head of -64 keys is not supported");
}

}  // namespace
}  // namespace wkvc::test
