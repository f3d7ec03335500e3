// Emitted forward and backward kernels beside the recurrence and its gradients in float64: configurations, the program
// that a test compiles, and the suite of both targets.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/manifest/joint_manifest.h"
#include "tests/run/dtypes.h"
#include "tests/run/run.h"
#include "tests/run/sample.h"

namespace wkvc::test {

inline Config config_of(const std::string& mma, const std::string& io, int key_dim = 0, int value_dim = 0) {
  return config_of_pass("both", mma, io, key_dim, value_dim);
}

inline const std::vector<Config> kDtypes = dtypes_of_pass("both");

// One of each operand dtype.
inline const std::vector<Config> kOperands = {kDtypes[0], kDtypes[1], kDtypes[2], kDtypes[6]};

inline Config guarded(Config config) {
  config.scales = "guarded";
  return config;
}

inline Config of_teams(Config config, int teams) {
  config.backward_teams = teams;
  return config;
}

using Change = std::function<void(Problem&)>;

// One program, which is compiled when it is needed, and what it is compared with.
struct Subject {
  Subject(const Definition& definition, const Config& given, Target at, Sample* drawn)
      : config(given),
        rec(rec_text(definition, given)),
        text(cuda_text(definition, given)),
        manifest(joint_manifest(manifests_from(text))),
        target(at),
        sample(drawn) {}

  const Program& program() const {
    if (!program_) program_ = Program::load(text, target);
    return *program_;
  }

  Problem problem(LaunchSize size) const {
    return random_problem(manifest, size, 17 * static_cast<unsigned>(size.tokens) + 1);
  }

  // Runs the program if the sample holds it.
  void expect_within(const Problem& problem, double looser = 1) const {
    if (!sample->holds(text)) return;
    const Errors errors = run_and_compare(program(), rec, problem);
    for (const TensorSpec& spec : manifest.tensors) {
      if (!is_result(spec.role) || problem.absent.contains(spec.name)) continue;
      ASSERT_TRUE(errors.contains(spec.name)) << spec.name;
      EXPECT_LE(errors.at(spec.name), looser * bound_of(config, spec.role))
          << manifest.op << ", " << manifest.config << ", T " << problem.size.tokens << ": " << spec.name;
    }
  }

  void check(LaunchSize size, const Change& change = {}, double looser = 1) const {
    Problem drawn = problem(size);
    if (change) change(drawn);
    expect_within(drawn, looser);
  }

  Config config;
  std::string rec, text;
  Manifest manifest;
  Target target;
  Sample* sample;

 private:
  mutable std::optional<Program> program_;
};

class Backward : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  Subject subject(const Definition& definition, const Config& config = config_of("f16", "bf16")) {
    return Subject(definition, config, GetParam(), &sample_);
  }

 private:
  Sample sample_;
};

}  // namespace wkvc::test
