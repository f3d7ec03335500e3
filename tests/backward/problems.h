// Problems whose gradients are hard to compute, and checks that several kinds of kernels go through.
#pragma once

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "dsl/wkvc.h"
#include "tests/backward/backward.h"
#include "tests/run/repeated_keys.h"

namespace wkvc::test {

inline void scale(std::vector<double>& x, double factor) {
  for (double& value : x) value *= factor;
}

// Mild decays for either form: log decays below 0.
inline void lower_decays(Problem& problem) {
  for (double& w : problem.values["w"]) w -= 4;
}

inline void choose_decays(Problem& problem, const std::vector<double>& choices) {
  auto& w = problem.values["w"];
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = choices[(i * 7 + i / 64 * 3) % choices.size()];
}

// log_w from −40 a token to exactly 0.
inline void strong_decays_of_rwkv6(Problem& problem) { choose_decays(problem, {-200, std::log(40.0), 2, -1, -6}); }
inline void strong_decays_of_logarithms(Problem& problem) { choose_decays(problem, {0, -40, -7, -0.4, -0.0025}); }

// As Kimi Delta Attention has it with a gate down to e^-5: f32 holds what pairs decay to and from, 16 bits do not.
inline Definition channel_gate() {
  return recurrence("channel_gate", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    op.compute(f16);
    auto [r, k] = op.inputs(K, bf16, "r", "k");
    auto v = op.input("v", V, bf16);
    auto log_w = op.input("log_w", K, f32).in(-5, 0);
    auto beta = op.input("beta", scalar, f32).in(0, 1);
    auto S = op.state("S", V, K, f32);
    auto decayed = op.let("decayed", S * diag(exp(log_w)));
    auto next = decayed + outer(beta * (cast<f32>(v) - dot(decayed, k)), k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

// What one rounding of operands may cost there: gradients of a, b and v are small differences of what is rounded.
// Measured: 4.5e-3 in f16, 2.5e-2 in bf16, 5.8e-5 in bf16x3.
inline double cost_of_repeated_keys(const Config& config) {
  if (config.mma == "f16") return 2.5;
  return config.mma == "bf16" ? 6 : config.mma == "bf16x3" ? 4 : 1;
}

inline void check_magnitudes(const Subject& at) {
  for (double factor : {1e-6, 1e3}) {
    at.check({1, 50, 1}, [&](Problem& problem) {
      for (const char* name : {"do", "dfinal_state"}) scale(problem.values[name], factor);
    });
    at.check({1, 50, 1}, [&](Problem& problem) { scale(problem.values["do"], factor); });
  }
}

inline void check_without_states(const Subject& at) {
  const std::vector<std::set<std::string>> choices = {
      {"initial_state"},
      {"dfinal_state"},
      {"dinitial_state"},
      {"initial_state", "final_state", "dfinal_state", "dinitial_state"}};
  for (const auto& absent : choices) at.check({1, 37, 2}, [&](Problem& problem) { problem.absent = absent; });
}

}  // namespace wkvc::test
