// RWKV-6, Peng et al. 2024 (arXiv:2404.05892), equation 19: o = (S + v (u∘k)ᵀ) r, then S' = S diag(e^log_w) + v kᵀ.
// The layer gives w with log_w = -e^w. u is the bonus of the token itself, one for each key of a head.
// Models: RWKV-6 Finch.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition rwkv6() {
  return recurrence("rwkv6", [](Recurrence& op) {
    const RwkvOptions options(op);
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto r = op.input("r", K, bf16), w = op.input("w", K, options.decay_dtype), k = op.input("k", K, bf16);
    auto v = op.input("v", V, bf16);
    auto u = op.parameter("u", K, bf16);
    op.compute(f16);
    auto log_w = options.is_log ? options.declared(op, w) : op.let("log_w", -exp(widened(w)));
    auto uk = op.let("uk", cast<f32>(u) * cast<f32>(k));
    auto S = op.state("S", V, K, f32);
    op.update(S, S * diag(exp(log_w)) + outer(v, k));
    op.output("o", scaled(dot(S + outer(v, uk), r), options.scale), bf16);
  });
}

}  // namespace wkvc
