// Programs of several recurrences on both targets, and their results beside the float64 recurrence.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "dsl/builtin.h"
#include "tests/lower/recurrences.h"
#include "tests/run/run.h"

namespace wkvc::test {

struct Model {
  const char* name;
  std::function<Definition()> definition;
  std::vector<std::string> shared = {};  // inputs that heads may share
};

inline void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

class OfModels : public testing::TestWithParam<std::tuple<Target, Model>> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(target()); !why.empty()) GTEST_SKIP() << why;
  }
  static Target target() { return std::get<0>(GetParam()); }
  static Model model() { return std::get<1>(GetParam()); }
  static std::string rec(const Config& config) { return rec_text(model().definition(), config); }
  static Program load(const Config& config) { return Program::load(cuda_text(model().definition(), config), target()); }
  static Problem problem(const Program& program, const Config& config, LaunchSize size) {
    return random_problem(program.manifest(), rec(config), size, 3);
  }
  static void expect_within_bounds(const Program& program, const Config& config, LaunchSize size) {
    const Errors errors = run_and_compare(program, rec(config), problem(program, config, size));
    for (const TensorSpec& spec : program.manifest().tensors) {
      if (!is_result(spec.role)) continue;
      EXPECT_LE(errors.at(spec.name), bound_of(config, spec.role)) << program.manifest().config << ": " << spec.name;
    }
  }
};

inline std::vector<double> values_of(const Program& program, const Problem& problem, const TensorMap& memory,
                                     const TensorSpec& spec) {
  return read(memory.at(spec.name), layout_of(spec, program.manifest(), problem.size));
}

inline std::string name_of_case(const testing::TestParamInfo<std::tuple<Target, Model>>& info) {
  return std::string(std::get<0>(info.param) == Target::host ? "Host_" : "Cuda_") + std::get<1>(info.param).name;
}

}  // namespace wkvc::test
