// RWKV-7, Peng et al. 2025 (arXiv:2503.14456), equation 16: S' = S (diag(e^log_w) + a bᵀ) + v kᵀ, o = S' r. The
// layer gives w with log_w = -e^(-1/2) sigmoid(w), in [-0.6065, 0]; RWKV-7 passes a = -kk and b = kk∘a.
// Models: RWKV-7 Goose.
#include <cmath>

#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition rwkv7() {
  return recurrence("rwkv7", [](Recurrence& op) {
    const RwkvOptions options(op);
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto r = op.input("r", K, bf16), w = op.input("w", K, options.decay_dtype);
    auto [k, a, b] = op.inputs(K, bf16, "k", "a", "b");
    auto v = op.input("v", V, bf16);
    op.compute(f16);
    auto log_w = options.is_log ? options.declared(op, w) : op.let("log_w", -std::exp(-0.5f) * sigmoid(widened(w)));
    auto S = op.state("S", V, K, f32);
    auto next = S * diag(exp(log_w)) + outer(dot(S, a), b) + outer(v, k);
    op.update(S, next);
    op.output("o", scaled(dot(next, r), options.scale), bf16);
  });
}

// The same where the layer gives log decays, of any range.
// Models: RWKV-7 with log decays.
Definition rwkv7_logw() { return preset(rwkv7(), "rwkv7_logw", {{"decay", "log"}}); }

}  // namespace wkvc
