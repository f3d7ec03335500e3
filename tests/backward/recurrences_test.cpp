// Recurrences that exist only in tests, forward and backward through emitted kernels.
#include "tests/lower/recurrences.h"

#include <gtest/gtest.h>

#include "dsl/builtin.h"
#include "tests/run/run.h"

namespace wkvc {

void PrintTo(const Definition& definition, std::ostream* stream) { *stream << definition.name; }

namespace test {
namespace {

void scale(std::vector<double>& x, double factor) {
  for (double& value : x) value *= factor;
}

class HostRecurrence : public testing::TestWithParam<Definition> {};

void check(const Definition& definition, const char* scales) {
  Config config;
  config.pass = "both";
  config.scales = scales;
  const std::string rec = rec_text(definition, config);
  const Program program = Program::load(cuda_text(definition, config), Target::host);
  Problem problem = random_problem(program.manifest(), rec, {2, 37, 2}, 1);
  for (const TensorSpec& spec : program.manifest().tensors)  // as keys, they let states grow
    if (spec.role == Role::parameter && spec.dtype == DType::bf16) scale(problem.values.at(spec.name), 0.1);
  const Errors errors = run_and_compare(program, rec, problem);
  for (const TensorSpec& spec : program.manifest().tensors)
    if (is_result(spec.role)) {
      EXPECT_LE(errors.at(spec.name), bound_of(config, spec.role)) << spec.name << ", scales " << scales;
    }
}

TEST_P(HostRecurrence, ForwardAndBackward) { check(GetParam(), "always"); }
TEST_P(HostRecurrence, Guarded) { check(GetParam(), "guarded"); }

std::string name_of_definition(const testing::TestParamInfo<Definition>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, HostRecurrence, testing::ValuesIn(recurrences()), name_of_definition);

}  // namespace
}  // namespace test
}  // namespace wkvc
