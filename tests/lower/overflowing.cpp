#include "tests/lower/overflowing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wkvc::test {
namespace {

struct Gate {
  Recurrence& op;
  Dim K;

  Expr number(const char* name) const { return op.input(name, scalar, f32); }
  Expr rate() const { return exp(op.parameter("A_log", scalar, f32)); }
};

// S' = e^log_w S + v kᵀ with a log decay of one number a token.
Definition gated(const char* name, Expr (*log_decay)(const Gate&)) {
  return recurrence(name, [log_decay](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(16);
    op.compute(f16);
    auto r = op.input("r", K, bf16), k = op.input("k", K, bf16), v = op.input("v", V, bf16);
    auto S = op.state("S", V, K, f32);
    auto next = exp(op.let("log_w", log_decay({op, K}))) * S + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

// As KDA with a lower bound: a log decay of each channel from −5 to 0.
Definition saturated() {
  return recurrence("saturated_gate", [](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(16);
    op.compute(f16);
    auto r = op.input("r", K, bf16), k = op.input("k", K, bf16), v = op.input("v", V, bf16);
    auto x = op.input("x", K, f32) + op.parameter("b", K, f32);
    auto log_w = op.let("log_w", -5.f * sigmoid(exp(op.parameter("A_log", scalar, f32)) * x));
    auto S = op.state("S", V, K, f32);
    auto next = S * diag(exp(log_w)) + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

std::size_t stride(const std::vector<double>& x, std::int64_t tokens) {
  const std::size_t per_token = x.size() / static_cast<std::size_t>(tokens);
  return x.size() % static_cast<std::size_t>(tokens) == 0 && per_token > 0 ? per_token : x.size();
}

}  // namespace

std::vector<OverflowingGate> overflowing_gates() {
  return {
      {gated("softplus_gate",
             [](const Gate& at) { return -at.rate() * softplus(at.number("x") + at.op.parameter("b", scalar, f32)); }),
       {{"A_log", 100}},
       {{"A_log", 800}},
       {"x", "b", "A_log"}},
      {saturated(), {{"A_log", 100}}, {{"A_log", 800}}, {"x", "b", "A_log"}},
      {gated("reciprocal_gate",
             [](const Gate& at) { return -softplus(at.number("x")) * reciprocal(at.number("size").in(0, 10)); }),
       {{"size", 0}},
       {{"size", 0}},
       {"x", "size"}},
      {gated("power_gate",
             [](const Gate& at) {
               auto x = at.number("x");
               auto square = x * x;
               return -(square * square);
             }),
       {{"x", 1e20}},
       {{"x", 1e160}},
       {"x"}},
      {gated("product_gate",
             [](const Gate& at) { return -(at.rate() * exp(at.number("y")) * softplus(at.number("x"))); }),
       {{"A_log", 60}, {"y", 60}},
       {{"A_log", 400}, {"y", 400}},
       {"A_log", "x", "y"}},
  };
}

void overflow(const std::map<std::string, double>& values, std::map<std::string, std::vector<double>>& tensors,
              std::int64_t tokens) {
  for (const auto& [name, value] : values) {
    std::vector<double>& x = tensors.at(name);
    const std::size_t row = stride(x, tokens);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (i % row < row / 2) x[i] = value;
  }
}

double largest_of_first_head(const std::vector<double>& x, std::int64_t tokens) {
  double largest = 0;
  const std::size_t row = stride(x, tokens);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % row < row / 2)
      largest = std::isfinite(x[i]) ? std::max(largest, std::abs(x[i])) : std::numeric_limits<double>::infinity();
  return largest;
}

}  // namespace wkvc::test
