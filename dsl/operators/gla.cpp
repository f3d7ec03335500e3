// Gated linear attention, Yang et al. 2023 (arXiv:2312.06635), equation 3: S' = S diag(e^g) + v kᵀ, o = scale S' q.
// Models: GLA.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition gla() {
  return recurrence("gla", [](Recurrence& op) {
    Attention at(op, 128, 128);
    const double lower_bound = lower_bound_option(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v"), g = at.channel("g").in(lower_bound, 0);
    auto S = at.state();
    at.finish(S, S * diag(exp(g)) + outer(v, k), q);
  });
}

}  // namespace wkvc
