// The wkvc command with an operator of this project's own: a state that leaks.
#include "tools/command.h"

namespace {

using namespace wkvc;

Definition leaky() {
  return recurrence("leaky", [](Recurrence& op) {
    Dim K = op.key_dim(64), V = op.value_dim(64);
    auto [q, k] = op.inputs(K, bf16, "q", "k");
    auto v = op.input("v", V, bf16);
    op.compute(f16);
    auto S = op.state("S", V, K, f32);
    auto next = 0.9f * S + outer(v, k);
    op.update(S, next);
    op.output("o", dot(next, q), bf16);
  });
}

}  // namespace

int main(int argc, char** argv) { return wkvc::command_main(argc, argv, {leaky}); }
