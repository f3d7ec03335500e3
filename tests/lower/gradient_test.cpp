// Backward chunk programs give the gradients of their recurrences, after every pass of the chunk stage.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "codegen/passes.h"
#include "dsl/builtin.h"
#include "tests/count.h"
#include "tests/lower/compare.h"
#include "tests/lower/recurrences.h"
#include "tests/run/sample.h"

namespace wkvc {

void PrintTo(const Definition& definition, std::ostream* stream);

namespace test {
namespace {

Config backward(int chunk, const std::string& mma = "f32") {
  Config config;
  config.key_dim = 32;
  config.value_dim = 16;
  config.chunk = chunk;
  config.mma = mma;
  config.pass = "both";
  return config;
}

// The text that is to be differentiated, with matrices that the backward program makes again. `config` says how often
// states are saved, so that the text has a schedule of gradients.
Source with_matrices_again(const Definition& definition, const Config& config) {
  std::string text = dump_after(source_from(rec_text(definition, config)), "schedule", config);
  const std::string checkpoint = "checkpoint(";
  EXPECT_EQ(count(text, checkpoint), 1u);
  text.insert(text.find(checkpoint) + checkpoint.size(), "matrices = again, ");
  return source_from(text);
}

// Of `source`, which is of the stage chunk or rec.
void expect_gradients(const Definition& definition, const Source& source, const Config& config, rec::Shape shape,
                      const std::vector<double>& log_decays) {
  const std::string text = rec_text(definition, config);
  const Problem problem = random_problem(text, shape, log_decays);
  const Incoming incoming = random_incoming(run_rec(text, problem));
  const rec::Result reference = run_rec_gradient(text, problem, incoming);
  bool differentiated = false;
  std::set<std::string> seen;
  for (const Pass& pass : all_passes()) {
    differentiated |= pass.name == std::string("differentiate");
    if (pass.output != Stage::chunk || !differentiated) continue;
    const std::string both = dump_after(source, pass.name, config);
    if (!seen.insert(both).second) continue;  // the pass has nothing to do
    EXPECT_LT(error_between(run_chunk_gradient(both, problem, incoming), reference), 1e-9)
        << definition.name << " after " << pass.name << ", chunk " << config.chunk << ", T " << shape.tokens;
  }
}

void expect_gradients(const Definition& definition, const Config& config, rec::Shape shape,
                      const std::vector<double>& log_decays) {
  expect_gradients(definition, source_from(rec_text(definition, config)), config, shape, log_decays);
}

class Gradient : public testing::TestWithParam<Definition> {};

TEST_P(Gradient, OfMildDecays) {
  Sample sample;
  for (int chunk : {16, 32})
    for (std::int64_t tokens : {1, 15, 16, 17, 63})
      if (sample.holds(fmt::format("{} {} {}", GetParam().name, chunk, tokens)))
        expect_gradients(GetParam(), backward(chunk), {1, tokens, 2}, {-0.01, -0.1, -0.25});
}

TEST_P(Gradient, OfBatchesAndHeads) { expect_gradients(GetParam(), backward(16), {2, 20, 3}, {-0.01, -0.2}); }

TEST_P(Gradient, OfF16Operands) { expect_gradients(GetParam(), backward(16, "f16"), {1, 40, 1}, {-0.01, -0.2}); }

Config of_plain_teams() {
  Config config = backward(16, "f16");
  config.scales = "guarded";
  config.backward_teams = 2;
  return config;
}
std::string rwkv7_after(const std::string& pass, const Config& config) {
  return dump_after(source_from(rec_text(rwkv7(), config)), pass, config);
}

// What gradients of wide heads are multiplied by last is made of one factor that is kept.
TEST(PlainGradient, OfFactorsThatAreKept) {
  Config config = of_plain_teams();
  config.key_dim = 80;
  const std::string text = rwkv7_after("factors", config);
  EXPECT_EQ(count(text, "chunk.reciprocal"), 1u);
  EXPECT_EQ(count(text, "kept_factor"), 1u);
  expect_gradients(rwkv7(), config, {1, 40, 1}, {-0.01, -0.2, -0.87});
  config.gradients = {"k"};  // which is multiplied by its reciprocal alone
  EXPECT_EQ(count(rwkv7_after("factors", config), "kept_factor"), 1u);
}

// What is needed twice where a state goes through a round again is kept by both forward programs, and read by those
// without scales.
TEST(PlainGradient, OfMatricesThatAreKept) {
  Config config = of_plain_teams();
  config.save_every = 64;
  const std::string text = rwkv7_after("kept-matrices", config);
  EXPECT_EQ(count(text, "chunk.output \"saved_AK\" %AK kept as \"f16\""), 2u);
  EXPECT_EQ(count(text, "chunk.input \"saved_AK\" kept"), 2u);
  for (const Definition& definition : {rwkv7(), rwkv7_logw()})
    expect_gradients(definition, config, {1, 70, 1}, {-0.01, -0.2, -0.87});
  config.save_every = 32;  // not again
  EXPECT_EQ(count(rwkv7_after("kept-matrices", config), "saved_AK"), 0u);
}

// Nothing is kept then, neither inverses nor what teams need twice, and all programs make them.
TEST(PlainGradient, OfMatricesThatAreMadeAgain) {
  Config of_teams = of_plain_teams(), alone = backward(16);
  of_teams.save_every = alone.save_every = 64;
  for (const Config& config : {of_teams, alone}) {
    const Source source = with_matrices_again(rwkv7(), config);
    const std::string text = dump_after(source, "slice", {});
    EXPECT_EQ(count(text, " kept "), 0u);
    EXPECT_EQ(count(text, "chunk.unit_lower_inverse"), count(text, "chunk.program"));
    EXPECT_EQ(count(text, "matrices = again"), count(text, "chunk.program"));
    expect_gradients(rwkv7(), source, config, {1, 70, 1}, {-0.01, -0.2, -0.87});
  }
}

std::size_t sums_of_matrices(const std::string& pass, const Config& config) {
  const Definition definition = recurrence_named("gated_delta_net");
  const std::string text = dump_after(source_from(rec_text(definition, config)), pass, config);
  return count(text, "strict : tensor<16x16xf32>");  // the triangles that are summed, and those of decays
}

// Of decays between tokens, each matrix of which decays are a factor has sums of its own, where teams have warps for
// them.
TEST(PlainGradient, OfSumsThatAreSplit) {
  Config config = of_plain_teams();
  config.value_dim = 64;
  EXPECT_EQ(sums_of_matrices("split-sums", config), sums_of_matrices("pair-gradients", config) + 2);  // two kernels
  expect_gradients(recurrence_named("gated_delta_net"), config, {1, 40, 1}, {-0.01, -0.2, -3});
  config.value_dim = 32;  // one warp a team
  EXPECT_EQ(sums_of_matrices("split-sums", config), sums_of_matrices("pair-gradients", config));
}

// Decays factored as if they were moderate, which these are.
TEST(PlainGradient, OfModerateDecays) {
  Config config = backward(16, "f16");
  config.scales = "guarded";
  for (const Definition& definition : {rwkv6(), rwkv7_logw()})
    expect_gradients(definition, config, {1, 40, 1}, {-0.01, -0.2, -0.87});
}

std::string name_of_definition(const testing::TestParamInfo<Definition>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Gradient, testing::ValuesIn(recurrences()), name_of_definition);

class StrongDecayGradient : public testing::TestWithParam<Definition> {};

TEST_P(StrongDecayGradient, IsExact) {
  for (std::int64_t tokens : {1, 17, 63})
    expect_gradients(GetParam(), backward(16), {1, tokens, 1}, {-200, -39, -20, -3, -0.1, -1e-3, 0});
}

// A decay's gradient is the sum of the terms that cross the decay. Where all are steep, there is nothing to hide what
// else was added and taken away.
TEST_P(StrongDecayGradient, KeepsItsDigitsWhereAllDecaysAreSteep) {
  for (auto [log_decay, chunk] : {std::pair{-30., 16}, {-8., 48}})
    expect_gradients(GetParam(), backward(chunk), {1, 70, 1}, {log_decay});
}

INSTANTIATE_TEST_SUITE_P(All, StrongDecayGradient, testing::ValuesIn(unbounded_recurrences()), name_of_definition);

// A decay of zero, whose log is an input.
TEST(DecayOfZero, HasNoGradient) {
  for (const Definition& definition : {rwkv7_logw(), recurrence_named("gated_delta_net")})
    for (double other : {-1., -HUGE_VAL}) expect_gradients(definition, backward(16), {1, 40, 1}, {-HUGE_VAL, other});
}

// Sums of log decays grow from block to block: a difference of two would hold the rounding of what it leaves out.
TEST(ExactDecays, AreSumsWithoutDifferences) {
  for (const Definition& definition : {rwkv7_logw(), rwkv6()}) {
    const std::string text =
        dump_after(source_from(rec_text(definition, backward(32))), "merge-gradients", backward(32));
    EXPECT_EQ(count(text, "chunk.sub "), 0u) << definition.name;
    EXPECT_EQ(count(text, "chunk.cumsum"), 0u) << definition.name;
    EXPECT_EQ(count(text, "chunk.at_least %w"), 0u) << definition.name;
    EXPECT_EQ(count(text, "chunk.sum_of_other_half"), 5u) << definition.name;
  }
}

}  // namespace
}  // namespace test
}  // namespace wkvc
