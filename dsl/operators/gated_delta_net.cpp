// Gated DeltaNet, Yang, Kautz, Hatamizadeh 2024 (arXiv:2412.06464), equation 10:
// S' = S (e^g (I - beta k kᵀ)) + beta v kᵀ, o = scale S' q, with a number g and a number beta of each token.
// Models: Qwen3-Next, OLMo Hybrid, Jet-Nemotron.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition gated_delta_net() {
  return recurrence("gated_delta_net", [](Recurrence& op) {
    Attention at(op, 128, 128);
    const Norms norms(op);
    const Gate gate(op);
    const WriteStrength strength(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v"), g = at.number("g"), beta = at.number("beta");
    auto log_decay = gate.of(op, g, scalar);
    auto S = at.state();
    auto key = norms.of(k);
    auto decayed = op.let("decayed", exp(log_decay) * S);
    auto next = delta_rule(op, "change", decayed, strength.of(beta), cast<f32>(v), key, key);
    at.finish(S, next, norms.of(q));
  });
}

}  // namespace wkvc
