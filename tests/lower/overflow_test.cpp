// Gradients beside factors that overflow, in float64: of the reference, and of backward chunk programs.
#include <gtest/gtest.h>

#include "codegen/passes.h"
#include "tests/lower/compare.h"
#include "tests/lower/overflowing.h"

namespace wkvc::test {
namespace {

constexpr std::int64_t kTokens = 40;

// Gradients of one gate, whose first head overflows.
struct Gradients {
  explicit Gradients(const OverflowingGate& gate) : gate_(gate), rec_(rec_text(gate.definition, config())) {
    problem_ = random_problem(rec_, {1, kTokens, 2}, {-0.1});
    if (problem_.inputs.contains("size")) problem_.inputs.at("size").assign(2 * kTokens, 5);
    overflow(gate.in_f64, problem_.inputs, kTokens);
    incoming_ = random_incoming(run_rec(rec_, problem_));
  }

  static Config config() {
    Config config;
    config.chunk = 16;
    config.mma = "f32";
    config.pass = "both";
    return config;
  }

  rec::Result reference() const { return run_rec_gradient(rec_, problem_, incoming_); }
  rec::Result of_chunks() const {
    const std::string both = dump_after(source_from(rec_), "differentiate", config());
    return run_chunk_gradient(both, problem_, incoming_);
  }

  void expect_zeros(const rec::Result& result) const {
    for (const std::string& name : gate_.zeros)
      EXPECT_EQ(largest_of_first_head(result.outputs.at("d" + name), kTokens), 0)
          << gate_.definition.name << ": d" << name;
  }

 private:
  const OverflowingGate& gate_;
  std::string rec_;
  Problem problem_;
  Incoming incoming_;
};

TEST(Overflow, LeavesZerosInTheReference) {
  for (const OverflowingGate& gate : overflowing_gates()) {
    const Gradients gradients(gate);
    gradients.expect_zeros(gradients.reference());
  }
}

TEST(Overflow, LeavesZerosInChunks) {
  for (const OverflowingGate& gate : overflowing_gates()) {
    const Gradients gradients(gate);
    gradients.expect_zeros(gradients.of_chunks());
    EXPECT_LT(error_between(gradients.of_chunks(), gradients.reference()), 1e-9) << gate.definition.name;
  }
}

}  // namespace
}  // namespace wkvc::test
