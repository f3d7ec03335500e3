// Nests that the compiler derives from definitions, with today's kernel for what they refuse or do not take, beside the
// float64 recurrence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "dsl/registry.h"
#include "runtime/error.h"
#include "tests/run/run.h"

namespace wkvc::test {
namespace {

constexpr std::int64_t kBatches = 2, kHeads = 3;
constexpr double kBound = 1.8e-3;     // of results in bf16, whose own rounding is 1.66e-3
constexpr double kBoundOfF16 = 5e-4;  // in f16, whose own rounding is 2.1e-4

struct Case {
  const char* op;
  const char* io;
  Target target;
};

const Definition& builtin(const std::string& op) {
  static const Registry registry = Registry::builtin();
  return registry.find(op);
}

Config by_warpgroups(const char* io) {
  Config config;
  config.key_dim = config.value_dim = 128;
  config.io = io;
  config.form = "warpgroups";
  return config;
}

class DerivedNest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam().target); !why.empty()) GTEST_SKIP() << why;
  }

  static std::string recurrence() { return rec_text(builtin(GetParam().op), by_warpgroups(GetParam().io)); }
  static Program program() {
    const std::string text = cuda_text(builtin(GetParam().op), by_warpgroups(GetParam().io));
    return Program::load(text, GetParam().target);
  }
  static void expect_near(const Program& program, const Problem& problem) {
    for (const auto& [name, error] : run_and_compare(program, recurrence(), problem))
      EXPECT_LE(error, name == "o" && GetParam().io == std::string("f16") ? kBoundOfF16 : kBound) << name;
  }
};

TEST_P(DerivedNest, FollowsTheRecurrence) {
  const Program derived = program();
  for (const std::int64_t tokens : {1, 63, 64, 65, 200}) {
    SCOPED_TRACE(tokens);
    expect_near(derived, random_problem(derived.manifest(), recurrence(), {kBatches, tokens, kHeads}, 5));
  }
}

TEST_P(DerivedNest, TakesAndGivesNoState) {
  const Program derived = program();
  Problem problem = random_problem(derived.manifest(), recurrence(), {kBatches, 70, kHeads}, 6);
  problem.absent = {"initial_state", "final_state"};
  expect_near(derived, problem);
}

// What a nest has no room for goes to the kernel with scales.
TEST_P(DerivedNest, LargeInputsAreRefused) {
  const Program derived = program();
  Problem problem = random_problem(derived.manifest(), recurrence(), {kBatches, 70, kHeads}, 7);
  for (double& x : problem.values.at("initial_state")) x *= 1e6;
  for (double& x : problem.values.at("q")) x *= 1e-4;  // so that f16 holds the output
  expect_near(derived, problem);
}

// Sequences one behind the other, and rows that 16 bytes do not divide: results are those of today's kernel, to the
// byte.
TEST_P(DerivedNest, LeavesToTheNextKernelWhatTilesDoNotTake) {
  Config strips = by_warpgroups(GetParam().io);
  strips.form = "strips";
  const Program derived = program();
  const Program scaled = Program::load(cuda_text(builtin(GetParam().op), strips), GetParam().target);
  const std::vector<std::int64_t> starts{0, 40, 40, 57, 150};
  const LaunchSize packed{1, starts.back(), kHeads, SequenceMap{4, starts.data(), true}};
  for (const LaunchSize& size : {packed, LaunchSize{2, 70, kHeads}}) {
    Problem problem = random_problem(derived.manifest(), recurrence(), size, 8);
    if (!size.map) problem.storage = Storage::unaligned;
    const auto by_derived = run_raw(derived, problem), by_scaled = run_raw(scaled, problem);
    for (const char* name : {"o", "final_state"}) EXPECT_TRUE(by_derived.at(name) == by_scaled.at(name)) << name;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Target target : {Target::host, Target::cuda})
    for (const char* op : {"gated_delta_net", "simple_gla"})
      for (const char* io : {"bf16", "f16"}) all.push_back({op, io, target});
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const Case& of = info.param;
  return std::string(of.target == Target::cuda ? "Cuda_" : "Host_") + of.op + "_" + of.io;
}

INSTANTIATE_TEST_SUITE_P(Operators, DerivedNest, testing::ValuesIn(cases()), name_of);

std::string refusal(const char* op, const Config& config) {
  try {
    cuda_text(builtin(op), config);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(DerivedNestText, SaysWhatTheFormDoesNotTake) {
  const auto says = [](const char* op, void (*change)(Config&), const char* what) {
    Config config = by_warpgroups("bf16");
    change(config);
    EXPECT_THAT(refusal(op, config), testing::AllOf(testing::HasSubstr("--form"), testing::HasSubstr(what))) << op;
  };
  says("gated_delta_net", [](Config& c) { c.key_dim = 64; }, "heads of 64x128; expected heads of 128x128");
  says("gated_delta_net", [](Config& c) { c.segments = 2; }, "expected whole heads and sequences");
  says("gated_delta_net", [](Config& c) { c.states_every = 64; }, "expected states at the ends alone");
  says("gated_delta_net", [](Config& c) { c.pass = "both"; }, "no gradients yet");
  says("gated_delta_net", [](Config& c) { c.scales = "always"; }, "leave one of the two options out");
  says("gated_delta_net", [](Config& c) { c.io = "f32"; }, "operands are inputs as they are");
  says("gated_delta_net", [](Config& c) { c.set = {"qk_norm=true"}; }, "use --form strips");
  says("kda", [](Config&) {}, "one decay a token");
  says("rwkv7", [](Config&) {}, "chunks of 64");
  says("delta_net", [](Config&) {}, "one decay a token");
}

}  // namespace
}  // namespace wkvc::test
