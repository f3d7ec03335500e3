// HGRN2, Qin et al. 2024 (arXiv:2404.07904), equation 5: gated linear attention whose keys are what the gate forgets,
// S' = S diag(e^g) + v (1 - e^g)ᵀ, o = scale S' q.
// Models: HGRN2.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition hgrn2() {
  return recurrence("hgrn2", [](Recurrence& op) {
    Attention at(op, 128, 128);
    const double lower_bound = lower_bound_option(op);
    auto q = at.key("q"), v = at.value("v"), g = at.channel("g").in(lower_bound, 0);
    auto S = at.state();
    auto forget = op.let("forget", exp(g));
    at.finish(S, S * diag(forget) + outer(v, op.let("k", 1.0f - forget)), q);
  });
}

}  // namespace wkvc
