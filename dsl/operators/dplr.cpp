// Diagonal plus low rank, RWKV-7's recurrence in the conventions of flash-linear-attention:
// S' = S (diag(e^g) + a bᵀ) + v kᵀ, o = scale S' q.
// Models: RWKV-7 in flash-linear-attention.
#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

Definition dplr() {
  return recurrence("dplr", [](Recurrence& op) {
    Attention at(op, 64, 64);
    const double lower_bound = lower_bound_option(op);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v"), a = at.key("a"), b = at.key("b");
    auto g = at.channel("g").in(lower_bound, 0);
    auto S = at.state();
    at.finish(S, S * diag(exp(g)) + outer(dot(S, a), b) + outer(v, k), q);
  });
}

// The same without decays: identity plus low rank.
// Models: IPLR layers of flash-linear-attention.
Definition iplr() {
  return recurrence("iplr", [](Recurrence& op) {
    Attention at(op, 64, 64);
    auto q = at.key("q"), k = at.key("k"), v = at.value("v"), a = at.key("a"), b = at.key("b");
    auto S = at.state();
    at.finish(S, S + outer(dot(S, a), b) + outer(v, k), q);
  });
}

}  // namespace wkvc
