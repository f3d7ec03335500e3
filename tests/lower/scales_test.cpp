// Where the scales of a program's f16 operands come from.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "codegen/compiler.h"
#include "dsl/builtin.h"
#include "tests/count.h"

namespace wkvc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string lowered(const std::string& pass, Stage stage, int segments = 1) {
  Config config;
  config.pass = pass;
  config.segments = segments;
  return lower_to({Stage::rec, rec_text(rwkv7(), config)}, stage, config);
}

// What the operand rounded from a value of this name takes its scale from.
std::string scale_of(const std::string& text, const std::string& name) {
  const std::regex round("%" + name + "(?:_f16)? = chunk.round %" + name + " scale (\\[[^\\]]*\\])");
  std::smatch found;
  return std::regex_search(text, found, round) ? found[1].str() : "none";
}

// Of a backward pass, the program that does not only compute states again.
std::string backward_program() {
  const std::string text = lowered("backward", Stage::chunk);
  return text.substr(text.rfind("chunk.program"));
}

TEST(Scales, OfSumsComeFromTheirTerms) {
  const std::string text = backward_program();
  EXPECT_EQ(scale_of(text, "AK"), R"(["a", "k"])");
  EXPECT_EQ(scale_of(text, "U0"), R"(["a", "S", "+", "a", "k", "v"])");
  EXPECT_EQ(scale_of(text, "U"), R"(["saved_M", "a", "S", "+", "saved_M", "a", "k", "v"])");
}

// Bounds of bounds would be too loose: the gradients of RB, AB and AK are contractions of U's or U0's.
TEST(Scales, OfContractionsOfSumsAreTheirOwn) {
  const std::string text = backward_program();
  size_t own = 0;
  for (size_t at = 0; (at = text.find("scale [] times", at)) != std::string::npos; ++at) ++own;
  EXPECT_EQ(own, 3u);
}

// Past the sequence's end a declared range does not hold, and proves nothing of small inputs' products.
TEST(Scales, OfPairsOfDeclaredRangesAreTheirOwn) {
  Config config;
  config.pass = "both";
  const std::string rec =
      std::regex_replace(rec_text(rwkv7(), config), std::regex(R"((rec.input "[rk]" dim K))"), "$1 in [-1.0, 1.0]");
  const std::string text = lower_to({Stage::rec, rec}, Stage::chunk, config);
  EXPECT_EQ(scale_of(text, "RK"), "[]");
  EXPECT_EQ(scale_of(text.substr(text.rfind("chunk.program")), "RK"), "[]");
}

// 2^60 ways lead from U0 to its terms.
TEST(Scales, OfOperandsSharedManyTimesAreTheirOwn) {
  std::string text = backward_program();
  const std::string own = "scale [] times 0.0",
                    bound = "scale [\"a\", \"S\", \"+\", \"a\", \"k\", \"v\"] times 64.0137634";
  const size_t rounded = text.find("%U0_f16 = chunk.round %U0 ");
  ASSERT_NE(rounded, std::string::npos);
  std::string sums, last = "%U0";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "%twice" + std::to_string(i);
    sums += fmt::format("{0} = chunk.add {1}, {1} : {2}, {2} -> {2}\n", next, last, "tensor<16x64xf32>");
    last = next;
  }
  text.replace(text.find(bound, rounded), bound.size(), own);
  text.replace(text.find("%U0 ", rounded), 3, last);
  text.insert(rounded, sums);
  const std::string all = lowered("backward", Stage::chunk);
  const std::string both = all.substr(0, all.rfind("chunk.program")) + text;
  EXPECT_THAT(lower_to({Stage::chunk, both}, Stage::warp, {}), HasSubstr("warp.round %twice59 own"));
}

TEST(Scales, OfOperandsOverValuesAreOneForAllWarps) {
  EXPECT_THAT(lowered("backward", Stage::warp), Not(HasSubstr("slabs columns")));
}

// The rows of a map are no states, and its largest is not published.
TEST(Scales, OfSummariesAreTheirOwn) {
  const std::string text = lowered("backward", Stage::cuda, 4);
  const size_t summary = text.find("rwkv7_backward_summary,"), next = text.find("WKVC_KERNEL(", summary);
  ASSERT_NE(summary, std::string::npos);
  EXPECT_THAT(text.substr(summary, next - summary), Not(HasSubstr(" + *")));
}

TEST(Scales, OfForwardProgramsAreMeasured) {
  const std::string text = lowered("forward", Stage::chunk);
  EXPECT_EQ(scale_of(text, "AK"), "[]");
  EXPECT_EQ(scale_of(text, "U0"), "[]");
}

// Behind teams: what takes the state through a chunk multiplies by scales where operands are rounded, and nowhere else.
TEST(Scales, OfSumsBehindTeamsAreThoseOfTheirTerms) {
  Config config;
  config.teams = 2;
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const Source rec{Stage::rec, rec_text(definition, config)};
    const std::string text = lower_to(rec, Stage::cuda, config);
    EXPECT_EQ(lower_to({Stage::warp, lower_to(rec, Stage::warp, config)}, Stage::cuda, {}), text);
    const std::string through = text.substr(text.find("The state goes through the round."));
    EXPECT_THAT(through, HasSubstr("mma_same_scale(O, "));
    EXPECT_THAT(through, Not(HasSubstr("mma_nt(")));
    EXPECT_THAT(through, Not(HasSubstr("accumulate(")));
  }
}

// So do both of the steps of a backward kernel. What others read (U and its gradient) has scales of its own; all warps
// have the same.
TEST(Scales, OfSumsInBackwardTeamsAreThoseOfTheirTerms) {
  Config config;
  config.pass = "backward";
  config.backward_teams = 2;
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const std::string text = lower_to(source_from(rec_text(definition, config)), Stage::cuda, config);
    const size_t begin = text.find("The states before the chunks of this round.");
    const size_t end = text.find("// Each team finishes its chunk", text.find("Backward through the round.", begin));
    ASSERT_NE(end, std::string::npos);
    const std::string steps = text.substr(begin, end - begin);
    for (const char* sum : {"S_fitting = in_fitting_scale(", "dS_fitting = in_fitting_scale(",
                            "store_scale(S_scale_number, ", "store_scale(dS_scale_number, "})
      EXPECT_THAT(steps, HasSubstr(sum));
    EXPECT_THAT(steps, HasSubstr("mma_same_scale(dv, "));
    EXPECT_THAT(steps, Not(HasSubstr("mma_nt(")));
    EXPECT_EQ(count(steps, "round_scaled<"), definition.name == "rwkv7" ? 2U : 0U);
  }
}

// What is read of inputs when states have come is read from operands made of them, so that two blocks have room.
TEST(Teams, OfBackwardKernelsFreeTheirInputs) {
  Config config;
  config.pass = "backward";
  config.backward_teams = 2;
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    const std::string text = lower_to(source_from(rec_text(definition, config)), Stage::warp, config);
    EXPECT_THAT(text, HasSubstr("blocks = 2")) << definition.name;
    for (const char* input : {"r", "k", "v", "do"}) {
      const std::string start = fmt::format("warp.ring \"{}\"", input);
      const size_t ring = text.find(start);
      ASSERT_NE(ring, std::string::npos) << definition.name << ": " << input;
      EXPECT_THAT(text.substr(ring, text.find('\n', ring) - ring), HasSubstr("live 0 to 0")) << definition.name;
    }
  }
}

// Warps read what teams have made of wide heads in groups of four; what gradients are multiplied by last is kept.
TEST(Teams, OfWideHeadsReadBack) {
  Config config;
  config.pass = "both";
  config.scales = "guarded";
  config.saved = "f16";
  config.key_dim = config.value_dim = 128;
  config.teams = config.backward_teams = config.rounds = 2;
  config.save_every = 64;  // so that states go through a round again
  const Source rec = source_from(rec_text(rwkv7(), config));
  const std::string cuda = lower_to(rec, Stage::cuda, config);
  EXPECT_EQ(lower_to(source_from(lower_to(rec, Stage::warp, config)), Stage::cuda, {}), cuda);
  EXPECT_EQ(lower_to(source_from(lower_to(rec, Stage::chunk, config)), Stage::cuda, config), cuda);
  const auto count_in = [&](const char* kernel, const char* part) {
    const std::size_t begin = cuda.find(std::string("WKVC_KERNEL(rwkv7_") + kernel + ",");
    const std::string text = cuda.substr(begin, cuda.find("\n}\n", begin) - begin);
    return count(text, part);
  };
  // Forward what updates the state, backward also what is made of it.
  EXPECT_EQ(count_in("forward", "group_mma("), 1u);
  EXPECT_EQ(count_in("backward", "group_mma("), 6u);
  EXPECT_EQ(count_in("forward_scaled", "group_mma("), 0u);
  EXPECT_EQ(count_in("forward", "block.before_async_reads();"), 1u);
  EXPECT_EQ(count_in("backward", "block.before_async_reads();"), 2u);
  EXPECT_EQ(count_in("backward", "reciprocal("), 1u);
  EXPECT_EQ(count_in("backward", ") * unit_;"), 1u);  // of dk and db at once
  EXPECT_EQ(count_in("backward", "= cumsum("), 2u);   // not where gradients are finished
}

// The last decay of a chunk and the first of the next are one row, by which both states go on: of kernels without
// scales whose teams prepare a round at a time.
TEST(Teams, JoinDecays) {
  Config config;
  config.pass = "both";
  config.scales = "guarded";
  config.saved = "f16";
  config.teams = config.backward_teams = config.rounds = 2;
  const auto kernels = [&](const Definition& definition) {
    return lower_to(source_from(rec_text(definition, config)), Stage::warp, config);
  };
  const std::string text = kernels(rwkv6());
  const std::size_t plain = text.find("warp.kernel \"rwkv6_backward\"");
  const std::string backward = text.substr(plain, text.find("\n}\n", plain) - plain);
  EXPECT_EQ(count(backward, "warp.join_rows"), 1u);
  EXPECT_EQ(count(backward, " of first"), 1u);
  EXPECT_EQ(count(backward, " of last"), 1u);
  EXPECT_EQ(count(backward, "warp.load_joined"), 1u);
  EXPECT_EQ(count(text, "warp.join_rows"), 1u);              // in no other
  EXPECT_EQ(count(kernels(rwkv7()), "warp.join_rows"), 0u);  // whose states are carried decayed by a number
  config.save_every = 64;                                    // through a round again, which has its own
  EXPECT_EQ(count(kernels(rwkv6()), "warp.join_rows"), 2u);
  EXPECT_EQ(count(kernels(rwkv6()), "warp.load_joined"), 1u);
}

// Of narrow heads only where one wait is for several contractions.
TEST(Teams, GoByGroupsWhereSeveralUpdateAState) {
  Config config;
  config.pass = "both";
  config.scales = "guarded";
  config.saved = "f16";
  config.teams = config.backward_teams = config.rounds = 2;
  const auto groups = [&](const Definition& definition) {
    return count(lower_to(source_from(rec_text(definition, config)), Stage::cuda, config), "group_mma(");
  };
  EXPECT_EQ(groups(rwkv7()), 4u);
  EXPECT_EQ(groups(rwkv6()), 0u);
}

TEST(Teams, OfBackwardKernelsReadBack) {
  for (const Definition& definition : {rwkv7(), rwkv6()}) {
    Config config;
    config.pass = "both";
    config.teams = config.backward_teams = 2;
    const Source rec = source_from(rec_text(definition, config));
    const std::string cuda = lower_to(rec, Stage::cuda, config);
    EXPECT_EQ(lower_to(source_from(lower_to(rec, Stage::warp, config)), Stage::cuda, {}), cuda);
    EXPECT_EQ(lower_to(source_from(lower_to(rec, Stage::chunk, config)), Stage::cuda, config), cuda);
    EXPECT_EQ(lower_to(rec, Stage::cuda, config), cuda);
  }
}

}  // namespace
}  // namespace wkvc::test
