// Linear attention with one decay a token and head, as Mamba-2's: S' = e^g S + v kᵀ, o = scale S' q.
// Models: simple GLA, MiniCPM's and Ling's hybrids.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition simple_gla() {
  return recurrence("simple_gla", [](Recurrence& op) {
    Attention at(op, 128, 128);
    const double lower_bound = lower_bound_option(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v"), g = at.number("g").in(lower_bound, 0);
    auto S = at.state();
    at.finish(S, exp(g) * S + outer(v, k), q);
  });
}

}  // namespace wkvc
