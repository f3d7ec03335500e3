#include "dsl/builtin.h"

#include <cmath>

namespace wkvc {

Definition rwkv7() {
  return recurrence("rwkv7", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto [r, w, k, a, b] = op.inputs(K, bf16, "r", "w", "k", "a", "b");
    auto v = op.input("v", V, bf16);
    op.compute(f16);
    auto log_w = op.let("log_w", -std::exp(-0.5f) * sigmoid(cast<f32>(w)));
    auto S = op.state("S", V, K, f32);
    auto next = S * diag(exp(log_w)) + outer(dot(S, a), b) + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

Definition rwkv7_logw() {
  return recurrence("rwkv7_logw", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto [r, w, k, a, b] = op.inputs(K, bf16, "r", "w", "k", "a", "b");
    auto v = op.input("v", V, bf16);
    op.compute(f16);
    auto log_w = op.let("log_w", cast<f32>(w).in(-1e6, 0));  // a decay of at most 1
    auto S = op.state("S", V, K, f32);
    auto next = S * diag(exp(log_w)) + outer(dot(S, a), b) + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, r), bf16);
  });
}

Definition rwkv6() {
  return recurrence("rwkv6", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto [r, w, k] = op.inputs(K, bf16, "r", "w", "k");
    auto v = op.input("v", V, bf16);
    auto u = op.parameter("u", K, bf16);
    op.compute(f16);
    auto log_w = op.let("log_w", -exp(cast<f32>(w)));
    auto uk = op.let("uk", cast<f32>(u) * cast<f32>(k));
    auto S = op.state("S", V, K, f32);
    op.update(S, S * diag(exp(log_w)) + outer(v, k));
    op.output("o", dot(S + outer(v, uk), r), bf16);
  });
}

}  // namespace wkvc
