// GDN-2 of flash-linear-attention: Gated DeltaNet with a gate for each key of what goes, and one for each value of what
// comes: S' = S diag(e^g) (I - (b∘k) kᵀ) + (w∘v) kᵀ, o = scale S' q.
// Models: GDN-2 layers of flash-linear-attention.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition gdn2() {
  return recurrence("gdn2", [](Recurrence& op) {
    Attention at(op, 128, 128);
    const Norms norms(op);
    const Gate gate(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v"), g = at.channel("g");
    auto b = at.key("b"), w = at.value("w");
    auto log_decay = gate.of(op, g, at.K);
    auto S = at.state();
    auto key = norms.of(k);
    auto decayed = op.let("decayed", S * diag(exp(log_decay)));
    auto erased = op.let("erased", cast<f32>(b) * widened(key));
    auto written = op.let("written", cast<f32>(w) * cast<f32>(v));
    auto next = decayed + outer(written - dot(decayed, erased), key);
    at.finish(S, next, norms.of(q));
  });
}

}  // namespace wkvc
