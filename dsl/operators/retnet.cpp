// RetNet, Sun et al. 2023 (arXiv:2307.08621), equation 6, and Lightning attention: S' = e^g S + v kᵀ, o = scale S' q,
// with one number g of each head, which no token changes.
// Models: RetNet, Lightning attention.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition retnet() {
  return recurrence("retnet", [](Recurrence& op) {
    Attention at(op, 128, 128);
    const double lower_bound = lower_bound_option(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v");
    auto g = op.parameter("g", scalar, f32).in(lower_bound, 0);
    auto S = at.state();
    at.finish(S, exp(g) * S + outer(v, k), q);
  });
}

}  // namespace wkvc
