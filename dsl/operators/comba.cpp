// Comba, Hu et al. 2025 (arXiv:2506.02475), as flash-linear-attention has it: what is read under p, before the decay,
// goes from the value that is written: S' = e^g S + beta (v - S p) kᵀ, o = scale S' q.
// Models: Comba layers of flash-linear-attention.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition comba() {
  return recurrence("comba", [](Recurrence& op) {
    Attention at(op, 128, 128);
    const Norms norms(op);
    const double lower_bound = lower_bound_option(op);
    const WriteStrength strength(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v"), p = at.key("p");
    auto g = at.number("g").in(lower_bound, 0), beta = at.number("beta");
    auto S = at.state();
    auto change = op.let("change", strength.of(beta) * (cast<f32>(v) - dot(S, norms.of(p))));
    auto next = exp(g) * S + outer(change, norms.of(k));
    at.finish(S, next, norms.of(q));
  });
}

}  // namespace wkvc
