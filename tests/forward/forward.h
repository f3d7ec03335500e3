// Emitted forward kernels beside the float64 recurrence: configurations, and the suite of both targets.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/run/dtypes.h"
#include "tests/run/run.h"
#include "tests/run/sample.h"

namespace wkvc::test {

inline void expect_within(const Errors& errors, const Config& config, const std::string& what,
                          std::size_t results = 2) {
  EXPECT_EQ(errors.size(), results);
  for (const auto& [name, error] : errors) EXPECT_LE(error, bound_of(config, Role::output)) << what << ": " << name;
}

inline Config config_of(const std::string& mma, const std::string& io, int key_dim = 0, int value_dim = 0) {
  return config_of_pass("forward", mma, io, key_dim, value_dim);
}

inline const std::vector<Config> kDtypes = dtypes_of_pass("forward");

class Forward : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  void check(const Definition& definition, const Config& config, LaunchSize size,
             const std::function<void(Problem&)>& change = {}) {
    const std::string text = cuda_text(definition, config);
    if (!sample_.holds(text)) return;
    const Program program = Program::load(text, GetParam());
    const Manifest& manifest = program.manifest();
    Problem problem = random_problem(manifest, size, 17 * static_cast<unsigned>(size.tokens) + 1);
    if (change) change(problem);
    const auto outputs = std::ranges::count(manifest.tensors, Role::output, &TensorSpec::role);
    expect_within(run_and_compare(program, rec_text(definition, config), problem), config,
                  manifest.op + ", " + manifest.config + ", T " + std::to_string(size.tokens),
                  1 + static_cast<std::size_t>(outputs));
  }

  Sample sample_;
};

}  // namespace wkvc::test
