// A recurrence of one's own, as Gated DeltaNet: the state decays, and what it holds under the key k moves towards v.
// The program is the wkvc command with this operator added.
#include "tools/command.h"

namespace {

using namespace wkvc;

Definition own_delta_net() {
  return recurrence("own_delta_net", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto [q, k] = op.inputs(K, bf16, "q", "k");
    auto v = op.input("v", V, bf16);
    auto decay = op.input("decay", scalar, f32), gate = op.input("gate", scalar, f32);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto decayed = op.let("decayed", exp(-softplus(decay)) * S);  // softplus is positive, so that S never grows
    auto change = op.let("change", sigmoid(gate) * (cast<f32>(v) - dot(decayed, k)));
    auto next = decayed + outer(change, k);
    op.update(S, next);
    op.output("o", dot(next, q), bf16);
  });
}

}  // namespace

int main(int argc, char** argv) { return wkvc::command_main(argc, argv, {own_delta_net}); }
