// Contractions that go up to f32 for want of a range, and the declaration that the compiler proposes.
#include "codegen/missing_range.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "dsl/builtin.h"
#include "dsl/wkvc.h"
#include "tests/chunk_programs.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The line of this file that declares beta.
int line_of_beta = 0;

// DeltaNet, whose beta and key that multiplies it are inputs. No value: in no range.
Definition delta_net(std::optional<double> largest_beta, const std::function<Expr(const Expr&)>& f) {
  return recurrence("delta_net_of_beta", [=](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(32);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    line_of_beta = __LINE__ + 1;
    auto beta = op.input("beta", scalar, f32);
    if (largest_beta) beta = beta.in(0, *largest_beta);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto next = S + outer(f(beta) * (cast<f32>(v) - dot(S, k)), k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

Expr itself(const Expr& x) { return x; }

std::optional<MissingRange> found(const Definition& definition, const Config& config = {}) {
  return missing_range(rec_source(definition, config), config);
}

std::vector<std::string> names(const MissingRange& missing) {
  std::vector<std::string> names;
  for (const MissingRange::Input& input : missing.inputs) names.push_back(input.name);
  return names;
}

// Plain programs of bf16 contractions have f16 operands, unless some of their contractions would take f32.
TEST(MissingRange, LeavesBf16ContractionsTheirOperands) {
  Config config;
  config.pass = "both";
  config.scales = "guarded";
  const auto plain_programs = [&](const std::optional<double> largest_beta, const char* mma) {
    config.mma = mma;
    const std::string text = lower_to(rec_source(delta_net(largest_beta, itself), config), Stage::chunk, config);
    const std::string plain = std::regex_replace(text, std::regex("compute = \"\\w+\""), "");
    std::vector<std::string> programs = programs_in(plain);
    std::erase_if(programs, [](const std::string& program) { return !is_plain(program); });
    return programs;
  };
  EXPECT_EQ(plain_programs(1, "bf16"), plain_programs(1, "f16"));
  EXPECT_EQ(plain_programs(1, "bf16").size(), 3U);  // one recomputes states
  for (const std::string& program : plain_programs(std::nullopt, "bf16")) EXPECT_THAT(program, HasSubstr("xbf16>"));
  for (const std::string& program : plain_programs(std::nullopt, "f16"))
    EXPECT_THAT(program, ContainsRegex("chunk.dot .*xf32>, tensor<.*xf32> ->"));
}

TEST(MissingRange, IsOfTheInputThatHasNone) {
  for (const char* pass : {"forward", "both"}) {
    Config config;
    config.pass = pass;
    const auto missing = found(delta_net(std::nullopt, itself), config);
    ASSERT_TRUE(missing) << pass;
    EXPECT_THAT(names(*missing), ElementsAre("beta"));
    EXPECT_EQ(missing->inputs[0].where, fmt::format("{}:{}", __FILE__, line_of_beta));
    EXPECT_FALSE(missing->operands.empty());
    const std::string text = text_of(*missing);
    EXPECT_THAT(text, HasSubstr(fmt::format("declare .in(lo, hi) on the input beta ({}:{})", __FILE__, line_of_beta)));
    EXPECT_THAT(text, HasSubstr("f32 operands in place of f16"));
    EXPECT_FALSE(found(delta_net(2, itself), config)) << pass;  // and that declaration helps
  }
}

// A function whose values are bounded needs no range, and neither do operands that are f32 because they were asked for.
TEST(MissingRange, IsNoneWhereNothingIsSlower) {
  EXPECT_FALSE(found(delta_net(std::nullopt, [](const Expr& x) { return sigmoid(x); })));
  for (const char* mma : {"f32", "bf16"}) {
    Config config;
    config.mma = mma;
    EXPECT_FALSE(found(delta_net(std::nullopt, itself), config)) << mma;
  }
  EXPECT_FALSE(found(rwkv7()));
  EXPECT_FALSE(found(rwkv6()));
  Config token;
  token.chunk = 1;
  EXPECT_FALSE(found(delta_net(std::nullopt, itself), token));
}

// Decays of one number a token take the numbers of reads out of operands, so that beta needs no range there.
TEST(MissingRange, IsNoneOfNumbersThatMultiplyDecayedReads) {
  const Definition gated = recurrence("gated", [](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(32);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto beta = op.input("beta", scalar, f32), decay = op.input("decay", scalar, f32);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto decayed = exp(-softplus(decay)) * S;
    auto next = decayed + outer(beta * (cast<f32>(v) - dot(decayed, k)), k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
  EXPECT_FALSE(found(gated));
}

// Behind the stage rec there are operands, but no inputs to declare; and no input helps a function without a bound.
TEST(MissingRange, NamesOperandsWhereNoInputHelps) {
  const Source rec = rec_source(delta_net(std::nullopt, itself), {});
  const auto of_text = missing_range(source_from(lower_to(rec, Stage::chunk, {})), {});
  ASSERT_TRUE(of_text);
  EXPECT_THAT(of_text->inputs, IsEmpty());
  EXPECT_EQ(of_text->operands, missing_range(rec, {})->operands);
  EXPECT_THAT(text_of(*of_text), HasSubstr("where it is computed"));
}

}  // namespace
}  // namespace wkvc::test
