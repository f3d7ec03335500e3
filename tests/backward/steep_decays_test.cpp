// Gradients of steep decays and of saturated activations: those of each head and of each channel by themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dsl/builtin.h"
#include "tests/backward/backward.h"
#include "tests/backward/problems.h"
#include "tests/lower/recurrences.h"

namespace wkvc::test {
namespace {

// The largest relative error among parts of a result: element i belongs to part i % row / width.
double worst_error(const std::vector<double>& x, const std::vector<double>& reference, std::size_t row,
                   std::size_t width) {
  std::vector<std::vector<double>> of_part(row / width), expected(row / width);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    of_part[i % row / width].push_back(x[i]);
    expected[i % row / width].push_back(reference[i]);
  }
  double worst = 0;
  for (std::size_t part = 0; part < expected.size(); ++part)
    worst = std::max(worst, relative_error(of_part[part], expected[part]));
  return worst;
}

// Where decays are steep: everywhere, in one head of two, or in one channel of each head.
enum class Steep { everywhere, head, channel };

bool is_steep(Steep where, std::size_t i, std::size_t heads, std::size_t channels) {
  return where == Steep::everywhere || (where == Steep::head && i / channels % heads == 0) ||
         (where == Steep::channel && i % channels == 5);
}

// The gradient of the input `name`, log decays or others, which is `steep` in places: of each head and of each of its
// channels relative to its own norm.
void check_where_steep(const Subject& at, const std::string& name, Steep where, double steep, double bound) {
  const LaunchSize size{1, 70, 2};
  Problem problem = random_problem(at.manifest, at.rec, size, 3);
  auto& w = problem.values.at(name);
  const std::size_t row = w.size() / static_cast<std::size_t>(size.tokens);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = is_steep(where, i, static_cast<std::size_t>(size.heads), row / 2) ? steep : -0.1;
  const auto reference = reference_of(at.manifest, at.rec, size, rounded(at.manifest, problem)).at("d" + name);
  const TensorMap memory = run_in_memory(at.program(), problem);
  std::vector<double> x(reference.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = memory.at("d" + name).get(i);
  std::vector<std::size_t> widths{row / 2};
  // With bf16 operands their roundings make up to 6.6e-3 of a channel, whatever the decays.
  if (at.config.mma != "bf16") widths.push_back(1);
  for (std::size_t width : widths)
    EXPECT_LE(worst_error(x, reference, row, width), bound)
        << at.manifest.op << ", " << at.manifest.config << ", " << name << " " << steep << ", parts of " << width;
}

// Nothing decays at the first token if there is no initial state. `rounding`: of terms that cancel there.
void check_first_token(const Subject& at, const std::string& name, double rounding = 0) {
  Problem problem = random_problem(at.manifest, at.rec, {1, 70, 2}, 3);
  problem.absent = {"initial_state", "dinitial_state"};
  const TensorMap memory = run_in_memory(at.program(), problem);
  const std::size_t token = problem.values.at(name).size() / 70;
  for (std::size_t i = 0; i < token; ++i) EXPECT_LE(std::abs(memory.at("d" + name).get(i)), rounding) << at.manifest.op;
}

// What the neighbours of a steep decay make of its gradient is 1e-7 of theirs, and would be most of it.
TEST_P(Backward, SteepDecaysOfEachHeadAndChannel) {
  const Definition gate = recurrence_named("gated_delta_net");
  for (const char* mma : {"f32", "f16", "bf16"})
    for (const auto& [definition, name] : {std::pair{rwkv7_logw(), "w"}, {gate, "log_w"}}) {
      const Config config = config_of(mma, "f32", 32, 32);
      const Subject at = subject(definition, config);
      const double bound = bound_of(config, Role::input_gradient);
      for (double log_decay : {-8., -10., -15., -20., -30.})
        check_where_steep(at, name, Steep::everywhere, log_decay, bound);
      for (Steep where : {Steep::head, Steep::channel}) check_where_steep(at, name, where, -15, bound);
      check_first_token(at, name);
    }
}

TEST_P(Backward, SteepDecaysInARange) {
  for (const char* mma : {"f32", "f16", "bf16"}) {
    const Config config = config_of(mma, "f32", 32, 32);
    Config by_teams = guarded(config);
    by_teams.backward_teams = 2;
    by_teams.save_every = 32;
    for (const Config& scales : {config, guarded(config), by_teams}) {
      const Subject at = subject(channel_gate(), scales);
      const double bound = bound_of(config, Role::input_gradient);
      for (double log_decay : {-0.01, -1., -3., -5.})
        check_where_steep(at, "log_w", Steep::everywhere, log_decay, bound);
      for (Steep where : {Steep::head, Steep::channel}) check_where_steep(at, "log_w", where, -5, bound);
      check_first_token(at, "log_w", 1e-6);
    }
  }
}

Definition gated_write() {
  return recurrence("gated_write", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    op.compute(f16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto gate = op.input("gate", scalar, f32);
    auto S = op.state("S", V, K, f32);
    auto next = S * 0.9f + outer(sigmoid(gate) * tanh(cast<f32>(v)), k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

// Where sigmoid and tanh are near 1 their derivatives are as small as e^-x, and 1 minus a result has lost that.
TEST_P(Backward, SaturatedActivationsOfEachHeadAndChannel) {
  for (const char* mma : {"f32", "f16", "bf16"}) {
    const Config config = config_of(mma, "f32", 32, 32);
    const double bound = bound_of(config, Role::input_gradient);
    for (Steep where : {Steep::everywhere, Steep::head}) {
      const Subject decay = subject(rwkv7(), config), write = subject(gated_write(), config);
      for (double x : {-70., -12., 12., 20.}) {
        check_where_steep(decay, "w", where, x, bound);
        check_where_steep(write, "gate", where, x, bound);
      }
      for (double x : {-9., 9., 20.}) check_where_steep(write, "v", where, x, bound);
    }
  }
}

}  // namespace
}  // namespace wkvc::test
