// Inputs have the names, dtypes and meanings of the public kernels beside which wkvc is timed. Log decays are declared
// as far down as the formulas of the layers reach: to -1e6, which is as good as no bound, where nothing bounds them.
// States are S[V,K].
#include "bench/recurrences.h"

#include <cmath>

namespace wkvc::bench {
namespace {

constexpr double unbounded = -1e6;  // the least log decay that is declared where a layer has no bound

// The head, the inputs over keys and values, and the state of a recurrence.
struct Head {
  explicit Head(Recurrence& recurrence, int keys = 128, int values = 128)
      : op(recurrence), K(op.key_dim(keys)), V(op.value_dim(values)) {
    op.compute(f16);
  }

  Expr key(const char* name) { return op.input(name, K, bf16); }
  Expr value(const char* name) { return op.input(name, V, bf16); }
  Expr number(const char* name) { return op.input(name, scalar, f32); }
  Expr state() { return op.state("S", V, K, f32); }
  Expr scaled(const Expr& read) const { return 1 / std::sqrt(static_cast<float>(K.extent)) * read; }
  void finish(const Expr& S, const Expr& next, const Expr& output) {
    op.update(S, next);
    op.output("o", output, bf16);
  }

  Recurrence& op;
  Dim K, V;
};

// The value of the state under the key k moves towards v by the part beta: S + beta (v - S k) k^T.
Expr delta_rule(Head& at, const Expr& S, const Expr& beta, const Expr& v, const Expr& k) {
  auto change = at.op.let("change", beta * (v - dot(S, k)));
  return S + outer(change, k);
}

}  // namespace

// Gated DeltaNet, Yang, Kautz, Hatamizadeh 2024 (arXiv:2412.06464), equation 10:
// S' = S (e^g (I - beta k k^T)) + beta v k^T, o = S' q / sqrt(K). g = -A softplus(x + bias) is a number of a token and
// head, beta in [0, 1].
Definition gated_delta_net() {
  return recurrence("gated_delta_net", [](Recurrence& op) {
    Head at(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v");
    auto g = at.number("g").in(unbounded, 0), beta = at.number("beta").in(0, 1);
    auto S = at.state();
    auto decayed = op.let("decayed", exp(g) * S);
    auto next = delta_rule(at, decayed, beta, cast<f32>(v), k);
    at.finish(S, next, at.scaled(dot(next, q)));
  });
}

// Kimi Delta Attention, Kimi Team 2025 (arXiv:2510.26692), equation 1: Gated DeltaNet with a decay of each key channel,
// S' = S diag(e^g) (I - beta k k^T) + beta v k^T, o = S' q / sqrt(K).
static Definition kimi(const char* name, double least_log_decay) {
  return recurrence(name, [least_log_decay](Recurrence& op) {
    Head at(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v");
    auto g = op.input("g", at.K, f32).in(least_log_decay, 0), beta = at.number("beta").in(0, 1);
    auto S = at.state();
    auto decayed = op.let("decayed", S * diag(exp(g)));
    auto next = delta_rule(at, decayed, beta, cast<f32>(v), k);
    at.finish(S, next, at.scaled(dot(next, q)));
  });
}

// With the gate of its paper, g = -A softplus(x + bias), which nothing bounds.
Definition kda() { return kimi("kda", unbounded); }

// With the gate of flash-linear-attention's lower_bound = -5, g = -5 sigmoid(A (x + bias)).
Definition kda_gate5() { return kimi("kda_gate5", -5); }

// Mamba-2, Dao and Gu 2024 (arXiv:2405.21060), section 6: S' = e^g S + (dt x) B^T, o = S' C. dt is a positive number of
// a token and head, and g = A dt with a negative number A of a head. Heads share B and C: --shared B,C.
Definition mamba2() {
  return recurrence("mamba2", [](Recurrence& op) {
    Head at(op, 128, 64);
    auto C = at.key("C"), B = at.key("B"), x = at.value("x");
    auto dt = at.number("dt"), g = at.number("g").in(unbounded, 0);
    auto S = at.state();
    auto next = exp(g) * S + outer(dt * cast<f32>(x), B);
    at.finish(S, next, dot(next, C));
  });
}

// Gated linear attention, Yang et al. 2023 (arXiv:2312.06635), equation 3: S' = S diag(e^g) + v k^T, o = S' q /
// sqrt(K). g = logsigmoid(x) / 16 of each key channel.
Definition gla() {
  return recurrence("gla", [](Recurrence& op) {
    Head at(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v");
    auto g = op.input("g", at.K, f32).in(unbounded, 0);
    auto S = at.state();
    auto next = S * diag(exp(g)) + outer(v, k);
    at.finish(S, next, at.scaled(dot(next, q)));
  });
}

// RetNet, Sun et al. 2023 (arXiv:2307.08621), equation 6: S' = e^g S + v k^T, o = S' q / sqrt(K). Of a head, g is one
// number from log(1 - 1/32) to log(1 - 1/512), which its tensor [H,K] holds K times.
Definition retnet() {
  return recurrence("retnet", [](Recurrence& op) {
    Head at(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v");
    auto g = op.parameter("g", at.K, f32).in(-1 / 31.0, 0);
    auto S = at.state();
    auto next = S * diag(exp(g)) + outer(v, k);
    at.finish(S, next, at.scaled(dot(next, q)));
  });
}

// A recurrence that has no name and no kernel of its own anywhere: RWKV-7's term of two free keys, which reads the
// state before it decays, beside a delta rule, which reads the state afterwards; and a gate on each value that is
// written. S' = S diag(e^g) (I - beta k k^T) + (S a) b^T + beta (sigmoid(z) v) k^T, o = S' q.
Definition unnamed() {
  return recurrence("unnamed", [](Recurrence& op) {
    Head at(op);
    auto q = at.key("q"), k = at.key("k"), a = at.key("a"), b = at.key("b"), v = at.value("v"), z = at.value("z");
    auto g = op.input("g", at.K, f32).in(-1, 0), beta = at.number("beta").in(0, 1);
    auto S = at.state();
    auto decayed = op.let("decayed", S * diag(exp(g)));
    auto written = op.let("written", sigmoid(cast<f32>(z)) * cast<f32>(v));
    auto next = delta_rule(at, decayed, beta, written, k) + outer(dot(S, a), b);
    at.finish(S, next, dot(next, q));
  });
}

}  // namespace wkvc::bench
