// Gated DeltaProduct, Siems et al. 2025 (arXiv:2502.10297), equation 6: one decay and then several delta rules a token,
// S_0 = e^g S, S_i = S_(i-1) + beta_i (v_i - S_(i-1) k_i) k_iᵀ, S' = S_n, o = scale S' q.
// Models: DeltaProduct layers of flash-linear-attention.
#include <string>

#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition gated_delta_product() {
  return recurrence("gated_delta_product", [](Recurrence& op) {
    const int steps = std::stoi(op.choice("steps", {"2", "3", "4"}, "delta rules a token, with k1 v1 beta1, k2 …"));
    Attention at(op, 128, 128);
    const Norms norms(op);
    const Gate gate(op);
    const WriteStrength strength(op);
    auto q = at.key("q"), g = at.number("g");
    auto log_decay = gate.of(op, g, scalar);
    auto S = at.state();
    auto next = op.let("decayed", exp(log_decay) * S);
    for (int i = 1; i <= steps; ++i) {
      const std::string n = std::to_string(i);
      auto key = norms.of(at.key("k" + n)), v = at.value("v" + n), beta = at.number("beta" + n);
      next = delta_rule(op, "change" + n, next, strength.of(beta), cast<f32>(v), key, key);
    }
    at.finish(S, next, norms.of(q));
  });
}

}  // namespace wkvc
