#include "dsl/operators/parts.h"

#include <cmath>

#include "dsl/node.h"

namespace wkvc::operators {

Expr widened(const Expr& x) { return x.node()->dtype == f32 ? x : cast<f32>(x); }

Expr scaled(const Expr& x, double factor) { return factor == 1 ? x : static_cast<float>(factor) * x; }

Expr silu(const Expr& x) {
  auto wide = widened(x);
  return wide * sigmoid(wide);
}

// The option "scale".
static double scale_option(Recurrence& op, double otherwise) {
  return op.number("scale", otherwise, {}, "what outputs are multiplied by");
}

double lower_bound_option(Recurrence& op) {
  return op.number("lower_bound", unbounded, {.most = 0},
                   "a promise that no log decay is below it; kernels are faster where it is near 0");
}

RwkvOptions::RwkvOptions(Recurrence& op)
    : is_log(op.choice("decay", {"raw", "log"},
                       "whether w is what the layer gives, or the log decay, which is never positive") == "log"),
      lower_bound(lower_bound_option(op)),
      scale(scale_option(op, 1)),
      decay_dtype(op.choice("decay_dtype", {"io", "f32"}, "how decays are stored: as the other inputs, or in f32") ==
                          "f32"
                      ? f32
                      : bf16) {
  op.needs("lower_bound", is_log, "decay=log");
}

Expr RwkvOptions::declared(Recurrence& op, const Expr& w) const {
  return w.node()->dtype == f32 ? w.in(lower_bound, 0) : op.let("log_w", cast<f32>(w).in(lower_bound, 0));
}

Attention::Attention(Recurrence& recurrence, int keys, int values)
    : op(recurrence),
      K(op.key_dim(keys)),
      V(op.value_dim(values)),
      scale(scale_option(op, 1 / std::sqrt(static_cast<float>(K.extent)))) {
  op.compute(f16);
}

void Attention::finish(const Expr& S, const Expr& next, const Expr& q) {
  op.update(S, next);
  op.output("o", scaled(dot(next, q), scale), bf16);
}

Norms::Norms(Recurrence& op)
    : are_taken(op.flag("qk_norm", "whether queries and keys are divided by their norms, √(Σx² + norm_eps)")),
      epsilon(op.number("norm_eps", 1e-6, {.least = 1e-12, .most = 1}, "what norms have below the root")) {
  op.needs("norm_eps", are_taken, "qk_norm=true");
}

Expr Norms::of(const Expr& x) const {
  if (!are_taken) return x;
  auto wide = widened(x);
  return (wide * reciprocal(sqrt(dot(wide, wide) + static_cast<float>(epsilon)))).in(-1, 1);
}

Gate::Gate(Recurrence& op)
    : kind(op.choice("gate", {"outside", "softplus", "sigmoid"},
                     "outside: g is the log decay; softplus: -e^A_log softplus(g + dt_bias); sigmoid: lower_bound "
                     "sigmoid(e^A_log (g + dt_bias))")),
      lower_bound(lower_bound_option(op)) {
  op.needs("lower_bound", kind != "softplus", "gate=outside or gate=sigmoid");
}

Expr Gate::of(Recurrence& op, const Expr& g, Dim bias) const {
  if (kind == "outside") return g.in(lower_bound, 0);
  auto A_log = op.parameter("A_log", scalar, f32), dt_bias = op.parameter("dt_bias", bias, f32);
  if (kind == "softplus") return -exp(A_log) * softplus(g + dt_bias);
  return static_cast<float>(lower_bound) * sigmoid(exp(A_log) * (g + dt_bias));
}

WriteStrength::WriteStrength(Recurrence& op)
    : is_sigmoid(op.flag("beta_sigmoid", "whether beta is what a sigmoid is taken of")),
      most(op.choice("beta_most", {"1", "2"}, "the largest beta; with 2 states may change their sign") == "2" ? 2 : 1) {
}

Expr WriteStrength::of(const Expr& beta) const { return is_sigmoid ? scaled(sigmoid(beta), most) : beta.in(0, most); }

Expr delta_rule(Recurrence& op, const std::string& name, const Expr& S, const Expr& beta, const Expr& v,
                const Expr& read, const Expr& written) {
  auto change = op.let(name, beta * (v - dot(S, read)));
  return S + outer(change, written);
}

}  // namespace wkvc::operators
