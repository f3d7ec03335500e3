// DeltaNet, Yang et al. 2024 (arXiv:2406.06484), equation 3: S' = S (I - beta k kᵀ) + beta v kᵀ, o = scale S' q.
// Models: DeltaNet.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition delta_net() {
  return recurrence("delta_net", [](Recurrence& op) {
    Attention at(op, 128, 128);
    const Norms norms(op);
    const WriteStrength strength(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v"), beta = at.number("beta");
    auto S = at.state();
    auto key = norms.of(k);
    auto next = delta_rule(op, "change", S, strength.of(beta), cast<f32>(v), key, key);
    at.finish(S, next, norms.of(q));
  });
}

}  // namespace wkvc
