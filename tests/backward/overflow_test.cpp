// Gradients of gates some factor of which overflows f32, through emitted kernels.
#include "tests/backward/backward.h"
#include "tests/lower/overflowing.h"

namespace wkvc::test {
namespace {

constexpr std::int64_t kTokens = 37;

// Its elements, without what lies behind them in memory.
std::vector<double> values_of(const HostTensor& tensor, std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.get(i);
  return values;
}

// In the first head the gate's gradients are 0; those of the other one, and all other results, are as ever.
TEST_P(Backward, FactorsThatOverflow) {
  for (const OverflowingGate& gate : overflowing_gates())
    for (const char* mma : {"f32", "f16"}) {
      const Config config = config_of(mma, "f32", 32, 32);
      const Subject at = subject(gate.definition, config);
      Problem problem = random_problem(at.manifest, at.rec, {1, kTokens, 2}, 5);
      for (double& x : problem.values.at("x")) x *= 0.3;  // the other head decays little
      overflow(gate.in_f32, problem.values, kTokens);
      const Program& program = at.program();
      const TensorMap memory = run_in_memory(program, problem);
      for (const std::string& name : gate.zeros)
        EXPECT_EQ(largest_of_first_head(values_of(memory.at("d" + name), problem.values.at(name).size()), kTokens), 0)
            << gate.definition.name << ", " << mma << ": d" << name;
      for (const auto& [name, error] : run_and_compare(program, at.rec, problem))
        EXPECT_LE(error, bound_of(config, Role::input_gradient)) << gate.definition.name << ", " << mma << ": " << name;
    }
}

}  // namespace
}  // namespace wkvc::test
