// Kimi Delta Attention, Kimi Team 2025 (arXiv:2510.26692), equation 1: Gated DeltaNet with a decay of each key,
// S' = S diag(e^g) (I - beta k kᵀ) + beta v kᵀ, o = scale S' q.
// Models: Kimi Linear.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition kda() {
  return recurrence("kda", [](Recurrence& op) {
    Attention at(op, 128, 128);
    const Norms norms(op);
    const Gate gate(op);
    const WriteStrength strength(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v"), g = at.channel("g"), beta = at.number("beta");
    auto log_decay = gate.of(op, g, at.K);
    auto S = at.state();
    auto key = norms.of(k);
    auto decayed = op.let("decayed", S * diag(exp(log_decay)));
    auto next = delta_rule(op, "change", decayed, strength.of(beta), cast<f32>(v), key, key);
    at.finish(S, next, norms.of(q));
  });
}

}  // namespace wkvc
