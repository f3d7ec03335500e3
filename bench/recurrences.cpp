#include "bench/recurrences.h"

#include "dsl/builtin.h"

namespace wkvc::bench {

// With the gate of flash-linear-attention's lower_bound = -5, g = -5 sigmoid(A (x + bias)).
Definition kda_gate5() { return preset(kda(), "kda_gate5", {{"lower_bound", "-5"}}); }

// A recurrence that has no name and no kernel of its own anywhere: RWKV-7's term of two free keys, which reads the
// state before it decays, beside a delta rule, which reads the state afterwards; and a gate on each value that is
// written. S' = S diag(e^g) (I - beta k k^T) + (S a) b^T + beta (sigmoid(z) v) k^T, o = S' q.
Definition unnamed() {
  return recurrence("unnamed", [](Recurrence& op) {
    Dim K = op.key_dim(128), V = op.value_dim(128);
    auto [q, k, a, b] = op.inputs(K, bf16, "q", "k", "a", "b");
    auto [v, z] = op.inputs(V, bf16, "v", "z");
    auto g = op.input("g", K, f32).in(-1, 0), beta = op.input("beta", scalar, f32).in(0, 1);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto decayed = op.let("decayed", S * diag(exp(g)));
    auto written = op.let("written", sigmoid(cast<f32>(z)) * cast<f32>(v));
    auto change = op.let("change", beta * (written - dot(decayed, k)));
    auto next = decayed + outer(change, k) + outer(dot(S, a), b);
    op.update(S, next);
    op.output("o", dot(next, q), bf16);
  });
}

}  // namespace wkvc::bench
