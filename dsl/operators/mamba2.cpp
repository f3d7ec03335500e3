// Mamba-2, Dao and Gu 2024 (arXiv:2405.21060), section 6: S' = e^(A dt) S + (dt x) Bᵀ, o = S' C + D x. dt is a positive
// number of a token and head, A a negative one of a head. Groups of heads share B and C.
// Models: Nemotron-H, Falcon-H1, Granite 4, Zamba2.
#include <limits>

#include "dsl/builtin.h"
#include "dsl/operators/parts.h"

namespace wkvc {

using namespace operators;

namespace {

constexpr double largest = std::numeric_limits<float>::max();

// The options of dt: a bias, a softplus and limits, in this order.
struct StepOptions {
  explicit StepOptions(Recurrence& op)
      : has_bias(op.flag("has_dt_bias", "whether a parameter dt_bias of each head is added to dt")),
        is_softplus(op.flag("dt_softplus", "whether dt is what a softplus is taken of")),
        least(op.number("dt_least", 0, {0, largest}, "dt is raised to it, behind the softplus")),
        most(op.number("dt_most", largest, {0, largest}, "dt is lowered to it, behind the softplus")) {}

  Expr of(Recurrence& op, Expr dt) const {
    if (has_bias) dt = dt + op.parameter("dt_bias", scalar, f32);
    if (is_softplus) dt = softplus(dt);
    if (least > 0) dt = static_cast<float>(least) + relu(dt - static_cast<float>(least));
    if (most < largest) dt = static_cast<float>(most) - relu(static_cast<float>(most) - dt);
    return dt;
  }

  bool has_bias, is_softplus;
  double least, most;
};

}  // namespace

Definition mamba2() {
  return recurrence("mamba2", [](Recurrence& op) {
    const StepOptions step(op);
    const bool has_skip = op.flag("has_skip", "whether D x is added to outputs, with a parameter D of each head");
    const bool has_gate = op.flag("has_gate", "whether outputs are multiplied by z sigmoid(z), with an input z");
    Dim K = op.key_dim(128), V = op.value_dim(64);
    auto x = op.input("x", V, bf16);
    auto given = op.input("dt", scalar, f32);
    auto A = op.parameter("A", scalar, f32).in(unbounded, 0);
    auto B = op.input("B", K, bf16), C = op.input("C", K, bf16);
    op.compute(f16);
    auto dt = step.of(op, given);
    auto S = op.state("S", V, K, f32);
    auto decay = op.let("log_decay", (A * dt).in(unbounded, 0));
    auto next = exp(decay) * S + outer(dt * cast<f32>(x), B);
    auto o = dot(next, C);
    if (has_skip) o = o + op.parameter("D", scalar, f32) * cast<f32>(x);
    if (has_gate) o = o * silu(op.input("z", V, bf16));
    op.update(S, next);
    op.output("o", o, bf16);
  });
}

}  // namespace wkvc
