// Chunk programs compute what their recurrences do, after every pass of the chunk stage.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "codegen/passes.h"
#include "dsl/builtin.h"
#include "runtime/error.h"
#include "tests/count.h"
#include "tests/lower/compare.h"
#include "tests/lower/recurrences.h"
#include "tests/run/sample.h"

namespace wkvc {

void PrintTo(const Definition& definition, std::ostream* stream) { *stream << definition.name; }

namespace test {
namespace {

// f32 operands allow long chunks of bounded decays; the interpreter rounds nothing.
Config with_chunk(int chunk, const std::string& mma = "f32") {
  Config config;
  config.key_dim = 32;
  config.value_dim = 16;
  config.chunk = chunk;
  config.mma = mma;
  return config;
}

std::vector<const char*> chunk_passes() {
  std::vector<const char*> names;
  for (const Pass& pass : all_passes())
    if (pass.output == Stage::chunk) names.push_back(pass.name);
  return names;
}

void expect_equal(const Definition& definition, const Config& config, rec::Shape shape,
                  const std::vector<double>& log_decays) {
  const std::string text = rec_text(definition, config);
  const Problem problem = random_problem(text, shape, log_decays);
  const rec::Result reference = run_rec(text, problem);
  std::set<std::string> seen;
  for (const char* pass : chunk_passes()) {
    const std::string program = dump_after(source_from(text), pass, config);
    if (!seen.insert(program).second) continue;  // the pass has nothing to do
    EXPECT_LT(error_between(run_chunk(program, problem), reference), 1e-10)
        << definition.name << " after " << pass << ", chunk " << config.chunk << ", T " << shape.tokens;
  }
}

class Equivalence : public testing::TestWithParam<Definition> {};

TEST_P(Equivalence, OfMildDecays) {
  Sample sample;
  for (int chunk : {16, 32, 48})
    for (std::int64_t tokens : {1, 15, 16, 17, 63})
      if (sample.holds(fmt::format("{} {} {}", GetParam().name, chunk, tokens)))
        expect_equal(GetParam(), with_chunk(chunk), {1, tokens, 2}, {-0.01, -0.1, -0.25});
}

TEST_P(Equivalence, OfBatchesAndHeads) { expect_equal(GetParam(), with_chunk(16), {2, 20, 3}, {-0.01, -0.2}); }

TEST_P(Equivalence, OfF16Operands) { expect_equal(GetParam(), with_chunk(16, "f16"), {1, 40, 1}, {-0.01, -0.2}); }

std::string name_of_definition(const testing::TestParamInfo<Definition>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Equivalence, testing::ValuesIn(recurrences()), name_of_definition);

class StrongDecays : public testing::TestWithParam<Definition> {};

// From what f32 can't hold to no decay at all.
TEST_P(StrongDecays, AreExact) {
  Sample sample;
  for (int chunk : {16, 32, 48, 64})
    for (std::int64_t tokens : {1, 15, 16, 17, 63, 130})
      if (sample.holds(fmt::format("{} {} {}", GetParam().name, chunk, tokens)))
        expect_equal(GetParam(), with_chunk(chunk), {1, tokens, 1}, {-200, -20, -3, -0.1, -1e-3, 0});
}

TEST_P(StrongDecays, SteepEverywhere) { expect_equal(GetParam(), with_chunk(64), {1, 130, 1}, {-40}); }

TEST_P(StrongDecays, NoDecayAnywhere) { expect_equal(GetParam(), with_chunk(64), {1, 130, 1}, {0}); }

INSTANTIATE_TEST_SUITE_P(All, StrongDecays, testing::ValuesIn(unbounded_recurrences()), name_of_definition);

// Of a state so large that what e^−50 leaves of it counts.
TEST(HugeStates, DecayToWhatTheyAre) {
  const std::string text = rec_text(rwkv7_logw(), with_chunk(16));
  for (double log_decay : {-50., -HUGE_VAL}) {
    Problem problem = random_problem(text, {1, 3, 1}, {log_decay});
    for (double& x : problem.initial_state) x *= 1e20;
    const std::string program = dump_after(source_from(text), "slice", with_chunk(16));
    EXPECT_LT(error_between(run_chunk(program, problem), run_rec(text, problem)), 1e-10);
  }
}

class ModerateDecays : public testing::TestWithParam<Definition> {};

// Programs that refuse what they do not hold take decays as moderate, up to e^-7 over half a chunk, and notice others.
TEST_P(ModerateDecays, AreAllThatPlainProgramsHold) {
  Config config = with_chunk(16, "f16");
  config.scales = "guarded";
  const std::string rec = rec_text(GetParam(), config);
  const std::string text = lower_to(source_from(rec), Stage::chunk, config);
  ASSERT_NE(text.find("not_below"), std::string::npos);
  const auto error = [&](std::int64_t tokens, const std::vector<double>& log_decays) {
    const Problem problem = random_problem(rec, {1, tokens, 1}, log_decays);
    return error_between(run_chunk(text, problem), run_rec(rec, problem));
  };
  EXPECT_LT(error(50, {-0.87, -0.1, -1e-3, 0}), 1e-10);
  EXPECT_LT(error(4, {-1.7}), 1e-10);
  EXPECT_EQ(error(8, {-0.88}), INFINITY);                                          // to the chunk's middle
  EXPECT_EQ(error(16, {-0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -9}), INFINITY);  // or after it
  EXPECT_EQ(error(50, {-40, 0}), INFINITY);
}

INSTANTIATE_TEST_SUITE_P(Some, ModerateDecays,
                         testing::Values(rwkv6(), rwkv7_logw(), recurrence_named("two_terms"),
                                         recurrence_named("read_before")),
                         name_of_definition);

// Log decays of one number a token, in a range that may be as good as none.
Definition decay_of_tokens(const std::vector<double>& range) {
  return recurrence("decay_of_tokens", [range](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto log_w = op.input("log_w", scalar, f32).in(range[0], range[1]);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto next = exp(log_w) * S + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

// Nothing depends on how steep decays may be: a contraction for all pairs of tokens, and no decay that is refused.
TEST(DecaysOfTokens, TakeNoRange) {
  Config config = with_chunk(64, "f16");
  config.pass = "both";
  config.scales = "guarded";
  const auto chunk_text = [&](const Definition& definition) {
    const std::string text = lower_to(source_from(rec_text(definition, config)), Stage::chunk, config);
    EXPECT_EQ(text.find("not_below"), std::string::npos);
    EXPECT_EQ(text.find("level_pairs"), std::string::npos);
    EXPECT_EQ(text.find("chunk.sub "), std::string::npos);  // whose digits are lost where decays are steep
    return std::regex_replace(text, std::regex(R"(at_most = [^ ]+ : f32(, )?)"), "");
  };
  const std::string steep = chunk_text(decay_of_tokens({-1e6, 0}));
  EXPECT_EQ(chunk_text(decay_of_tokens({-0.1, 0})), steep);
  EXPECT_EQ(chunk_text(decay_of_tokens({-5, 0})), steep);
}

// Of each channel, down to e^-5 a token.
Definition decay_of_channels() {
  return recurrence("decay_of_channels", [](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto log_w = op.input("log_w", K, f32).in(-5, 0);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    op.output("before", dot(S, r), bf16);
    auto next = S * diag(exp(log_w)) + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

TEST(DecaysInARange, AreWhatTheyAre) {
  for (const char* mma : {"f16", "bf16", "bf16x3"})
    for (const double log_decay : {-5., -1., 0.})
      expect_equal(decay_of_channels(), with_chunk(16, mma), {1, 40, 2}, {log_decay, -0.1});
}

// The matrices of pairs and their gradients are contracted each at once, with operands of f32's range; longer chunks
// leave that range. Of bf16 contractions the program without scales has the operands of f16 contractions.
TEST(DecaysInARange, AreFactoredInTheRangeOfF32) {
  const std::map<std::string, std::set<std::string>> operands{
      {"f16", {"tf32"}}, {"bf16", {"bf16", "tf32"}}, {"bf16x3", {"bf16x3"}}};
  for (const auto& [mma, expected] : operands) {
    Config config = with_chunk(16, mma);
    config.pass = "both";
    config.scales = "guarded";
    const std::string text = lower_to(source_from(rec_text(decay_of_channels(), config)), Stage::chunk, config);
    EXPECT_EQ(count(text, "level_pairs"), 0u);
    EXPECT_EQ(count(text, "not_below"), 0u);
    const std::regex of_pairs(R"(chunk\.dot [^\n]*_pairs_(tf32|bf16x3|bf16)\w* over[^\n]*)");
    const auto dots = std::vector<std::smatch>(std::sregex_iterator(text.begin(), text.end(), of_pairs), {});
    EXPECT_GE(dots.size(), 6u);
    std::set<std::string> found;
    for (const std::smatch& dot : dots) {
      EXPECT_NE(dot.str().find("wide}"), std::string::npos) << dot.str();
      found.insert(dot.str(1));
    }
    EXPECT_EQ(found, expected) << mma;
    config.chunk = 32;
    EXPECT_GT(count(lower_to(source_from(rec_text(decay_of_channels(), config)), Stage::chunk, config), "level_pairs"),
              0u);
  }
}

TEST(DecaysOfTokens, HaveALargestChunk) {
  const std::string text = rec_text(recurrence_named("token_decay"), with_chunk(80));
  try {
    lower_to(source_from(text), Stage::chunk, with_chunk(80));
    FAIL() << "chunks of 80 are taken";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("have chunks of at most 64; choose --chunk 64"), std::string::npos);
  }
}

// What decays to nothing is zero, and what follows is as it is.
TEST(DecaysOfTokens, MayBeZero) {
  for (const char* name : {"gated_delta_net", "token_decay"})
    expect_equal(recurrence_named(name), with_chunk(32), {1, 70, 1}, {-HUGE_VAL, -1, -0.1});
}

TEST(Programs, InvertOnlyForRankOneTerms) {
  auto program = [](const Definition& definition) {
    return lower_to(source_from(rec_text(definition, with_chunk(16))), Stage::chunk, with_chunk(16));
  };
  EXPECT_EQ(program(rwkv6()).find("unit_lower_inverse"), std::string::npos);
  EXPECT_NE(program(rwkv7()).find("unit_lower_inverse"), std::string::npos);
}

}  // namespace
}  // namespace test
}  // namespace wkvc
