// Recurrences that exist only in tests, forward and backward through emitted kernels.
#include "tests/lower/recurrences.h"

#include <gtest/gtest.h>

#include "dsl/builtin.h"
#include "runtime/error.h"
#include "runtime/manifest/joint_manifest.h"
#include "runtime/manifest/refusal_names.h"
#include "tests/backward/problems.h"
#include "tests/run/run.h"

namespace wkvc {

void PrintTo(const Definition& definition, std::ostream* stream) { *stream << definition.name; }

namespace test {
namespace {

class HostRecurrence : public testing::TestWithParam<Definition> {};

// What a plain kernel gets wrong without refusing it, or refuses for no reason, the kernel behind it would hide.
void expect_none_refused(const Program& program, const Problem& problem) {
  const TensorMap memory = run_in_memory(program, problem);
  for (const TensorSpec& spec : program.internals())
    if (is_of_refusals(spec.name)) {
      const HostTensor& numbers = memory.at(spec.name);
      for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers.get(i), 0) << spec.name;
    }
}

void check(const Definition& definition, Config config, std::int64_t tokens = 37) {
  config.pass = "both";
  const std::string rec = rec_text(definition, config);
  const Program program = Program::load(cuda_text(definition, config), Target::host);
  Problem problem = random_problem(program.manifest(), rec, {2, tokens, 2}, 1);
  for (const TensorSpec& spec : program.manifest().tensors)  // as keys, they let states grow
    if (spec.role == Role::parameter && spec.dtype == DType::bf16) scale(problem.values.at(spec.name), 0.1);
  if (definition.name == "sigmoid_decay") scale(problem.values.at("gate"), -1);  // else faster than plain kernels hold
  const Errors errors = run_and_compare(program, rec, problem);
  for (const TensorSpec& spec : program.manifest().tensors)
    if (is_result(spec.role)) {
      EXPECT_LE(errors.at(spec.name), bound_of(config, spec.role))
          << definition.name << ": " << spec.name << ", scales " << config.scales;
    }
  expect_none_refused(program, problem);
}

TEST_P(HostRecurrence, ForwardAndBackward) { check(GetParam(), {.scales = "always"}); }
TEST_P(HostRecurrence, Guarded) { check(GetParam(), {.scales = "guarded"}); }

// Of this one what is made of the gradient's state needs what was made of the saved one: not both at once.
TEST(HostRecurrences, WhoseStatesNeedEachOther) {
  Config config{.key_dim = 32, .value_dim = 32, .scales = "guarded"};
  config.backward_teams = 2;
  check(recurrence_named("gated_read"), config);
}

// What value rows make of a saved state they round with a scale of inputs: others take it so, the state's gradient
// beside its own scale.
TEST(HostRecurrences, WhoseRowsRoundWithTheScaleOfAnInput) {
  Config config{.key_dim = 32, .value_dim = 32, .save_every = 32, .scales = "always", .gradients = {"k"}};
  config.backward_teams = 2;
  check(recurrence_named("gated_read"), config);
}

// A contraction of f32 reads the saved state as it is, after the rows of the state have published their maxima.
TEST(HostRecurrences, WhoseSavedStateIsReadAsItIs) {
  Config config{.key_dim = 32, .value_dim = 32, .save_every = 32, .scales = "always", .gradients = {"k"}};
  config.backward_teams = 2;
  check(recurrence_named("scaled_reads"), config);
}

// The initial state's gradient alone, as for a state that is trained beside frozen weights. Some recurrences only: it
// takes seconds to compile one.
TEST(HostRecurrences, TheInitialStatesGradientAlone) {
  const auto all = recurrences();
  int run = 0;
  for (std::size_t i = 1; i < all.size(); i += 3) {
    const Definition& definition = all[i];
    Config config{.key_dim = 32, .value_dim = 32, .gradients = {"initial_state"}};
    config.backward_teams = 1 + run % 2;
    SCOPED_TRACE(definition.name);
    try {
      check(definition, config);
      ++run;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("--teams"), std::string::npos) << error.what();
    }
  }
  EXPECT_GE(run, 6);
}

// Each gradient alone, behind teams: a kernel of its own, which shares less.
TEST(HostRecurrences, OneGradientEach) {
  int emitted = 0;
  for (const Definition& definition : recurrences()) {
    Config config{.key_dim = 32, .value_dim = 32, .pass = "both", .save_every = 32, .scales = "always"};
    const Manifest all = joint_manifest(manifests_from(cuda_text(definition, config)));
    config.backward_teams = 2;
    for (const TensorSpec& spec : all.tensors) {
      if (spec.role != Role::input) continue;
      config.gradients = {spec.name};
      try {
        emitted += cuda_text(definition, config).empty() ? 0 : 1;
      } catch (const UserError& error) {
        EXPECT_NE(std::string(error.what()).find("--teams"), std::string::npos)
            << definition.name << ": " << error.what();
      } catch (const std::exception& fault) {
        ADD_FAILURE() << definition.name << ", gradient of " << spec.name << ": " << fault.what();
      }
    }
  }
  EXPECT_GE(emitted, 60);
}

// States go through every other round of teams a second time. Some recurrences only: it takes seconds to compile one.
TEST(HostRecurrences, Again) {
  const auto all = recurrences();
  int with_teams = 0;
  for (std::size_t i = 0; i < all.size(); i += 3) {
    const Definition& definition = all[i];
    Config config{.key_dim = 32, .value_dim = 32, .save_every = 64, .scales = "guarded"};
    config.backward_teams = 2;
    try {
      check(definition, config, 101);
      ++with_teams;
    } catch (const UserError& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.find("use --teams N,1") != what.npos || what.find("need a saved state every 2") != what.npos)
          << definition.name << ": " << what;
    }
  }
  EXPECT_GE(with_teams, 6);
}

std::string name_of_definition(const testing::TestParamInfo<Definition>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, HostRecurrence, testing::ValuesIn(recurrences()), name_of_definition);

}  // namespace
}  // namespace test
}  // namespace wkvc
