#include "tests/lower/recurrences.h"

#include <stdexcept>

#include "dsl/builtin.h"

namespace wkvc::test {
namespace {

// What every recurrence here declares.
struct Head {
  explicit Head(Recurrence& recurrence) : op(recurrence) { op.compute(f16); }

  Expr key(const char* name) { return op.input(name, K, bf16); }
  Expr value(const char* name) { return op.input(name, V, bf16); }
  Expr number(const char* name) { return op.input(name, scalar, f32); }
  Expr log_decay() { return op.input("log_w", K, f32).in(-1e6, 0); }
  void finish(const Expr& next, const Expr& output) {
    op.update(S, next);
    op.output("o", output, bf16);
  }

  Recurrence& op;
  Dim K = op.key_dim(32), V = op.value_dim(16);
  Expr r = op.input("r", K, bf16), k = op.input("k", K, bf16), v = op.input("v", V, bf16);
  Expr S = op.state("S", V, K, f32);
};

Definition with_head(const char* name, void (*body)(Head&)) {
  return recurrence(name, [body](Recurrence& op) {
    Head head(op);
    body(head);
  });
}

Definition linear_attention() {
  return with_head("linear_attention", [](Head& at) {
    auto next = at.S + outer(at.v, at.k);
    at.finish(next, dot(next, at.r));
  });
}

Definition delta_net() {
  return with_head("delta_net", [](Head& at) {
    auto next = at.S - outer(dot(at.S, at.k), at.k) + outer(at.v, at.k);
    at.finish(next, dot(next, at.r));
  });
}

Definition gated_delta_net() {
  return with_head("gated_delta_net", [](Head& at) {
    auto beta = sigmoid(at.number("gate"));
    auto decayed = exp(at.number("log_w").in(-1e6, 0)) * at.S;
    auto next = decayed + outer(beta * (cast<f32>(at.v) - dot(decayed, at.k)), at.k);
    at.finish(next, dot(next, at.r));
  });
}

Definition two_terms() {
  return with_head("two_terms", [](Head& at) {
    auto a = at.key("a"), b = at.key("b"), c = at.key("c"), d = at.key("d");
    auto next = at.S * diag(exp(at.log_decay())) + outer(dot(at.S, a), b) + outer(dot(at.S, c), d) + outer(at.v, at.k);
    at.finish(next, dot(next, at.r));
  });
}

Definition three_terms() {
  return with_head("three_terms", [](Head& at) {
    auto a = at.key("a"), b = at.key("b"), c = at.key("c"), d = at.key("d"), k = at.k;
    auto next = at.S + outer(dot(at.S, a), b) + outer(dot(at.S, c), d) - outer(dot(at.S, k), k) + outer(at.v, k);
    at.finish(next, dot(next, at.r));
  });
}

Definition read_before() {
  return with_head("read_before", [](Head& at) {
    auto a = at.key("a"), b = at.key("b");
    auto next = at.S * diag(exp(at.log_decay())) + outer(dot(at.S, a), b) + outer(at.v, at.k);
    at.finish(next, dot(at.S, at.r));
  });
}

Definition gated_read() {
  return with_head("gated_read", [](Head& at) {
    auto next = at.S * diag(exp(at.log_decay())) + outer(at.v, at.k);
    auto gate = sigmoid(cast<f32>(at.value("gate")));
    at.finish(next, gate * dot(next, at.r) + tanh(dot(at.S, at.k)));
  });
}

Definition delta_after_decay() {
  return with_head("delta_after_decay", [](Head& at) {
    auto decayed = at.S * diag(exp(at.log_decay()));
    auto next = decayed + outer(dot(decayed, at.key("a")), at.key("b")) + outer(at.v, at.k);
    at.finish(next, dot(next, at.r));
  });
}

// The second rank-one term acts on what the first one made, and all of it decays.
Definition product_of_deltas() {
  return with_head("product_of_deltas", [](Head& at) {
    auto a = at.key("a"), b = at.key("b"), c = at.key("c"), d = at.key("d");
    auto first = at.S + outer(dot(at.S, a), b) + outer(at.v, at.k);
    auto next = (first - outer(dot(first, c), d)) * diag(exp(at.log_decay()));
    at.finish(next, dot(next, at.r) + dot(first, at.r));
  });
}

Definition constant_decay() {
  return with_head("constant_decay", [](Head& at) {
    auto next = 0.9f * at.S + outer(at.v, at.k);
    at.finish(next, dot(next, at.r));
  });
}

Definition head_decay() {
  return with_head("head_decay", [](Head& at) {
    auto next = at.S * diag(exp(at.op.parameter("log_w", at.K, f32).in(-1e6, 0))) + outer(at.v, at.k);
    at.finish(next, dot(next, at.r));
  });
}

Definition head_decay_in_range() {
  return with_head("head_decay_in_range", [](Head& at) {
    auto next = at.S * diag(at.op.parameter("decay", at.K, f32).in(0.75, 1)) + outer(at.v, at.k);
    at.finish(next, dot(next, at.r));
  });
}

Definition token_decay() {
  return with_head("token_decay", [](Head& at) {
    auto next = exp(at.number("log_w").in(-1e6, 0)) * at.S + outer(at.v, at.k);
    at.finish(next, dot(next, at.r));
  });
}

Definition sigmoid_decay() {
  return with_head("sigmoid_decay", [](Head& at) {
    auto decayed = at.S * diag(sigmoid(cast<f32>(at.key("gate")))) * diag(exp(at.log_decay()));
    auto next = decayed + outer(at.v, at.k);
    at.finish(next, dot(next, at.r));
  });
}

// Vectors with one row for all tokens wherever C rows are expected.
Definition parameters_everywhere() {
  return with_head("parameters_everywhere", [](Head& at) {
    auto a = at.op.parameter("a", at.K, bf16), b = at.op.parameter("b", at.K, bf16);
    auto bias = at.op.parameter("bias", at.V, bf16);
    auto next = at.S * diag(exp(at.log_decay())) + outer(dot(at.S, a), b) + outer(bias, at.k) + outer(at.v, a);
    at.op.output("read", dot(next, a), f32);
    at.op.output("before", dot(at.S + outer(bias, b), b), f32);
    at.op.output("bias_out", bias, bf16);
    at.finish(next, dot(next, at.r) + cast<f32>(bias) * cast<f32>(at.v));
  });
}

Definition constants_everywhere() {
  return with_head("constants_everywhere", [](Head& at) {
    auto ones = 0.0f * cast<f32>(at.op.parameter("p", at.K, bf16)) + 1.0f;
    auto twos = 0.0f * cast<f32>(at.v) + 2.0f;
    auto beta = at.number("gate") * ones;
    auto next = at.S + outer(at.v, beta) + outer(twos, at.k);
    at.finish(next, dot(next, ones) - twos);
  });
}

Definition outputs_of_every_axis() {
  return with_head("outputs_of_every_axis", [](Head& at) {
    auto gate = at.number("gate");
    at.op.output("keys", exp(cast<f32>(at.k)), f32);
    at.op.output("number", gate + dot(at.k, at.r), f32);
    at.op.output("raw", at.v, bf16);
    at.finish(at.S + outer(gate * cast<f32>(at.v), at.k), -(gate * dot(at.S, at.r)) - cast<f32>(at.v));
  });
}

Definition unchanged_state() {
  return with_head("unchanged_state", [](Head& at) { at.finish(at.S, dot(at.S, at.r) + dot(at.S, at.k)); });
}

}  // namespace

std::vector<Definition> recurrences() {
  std::vector<Definition> all = unbounded_recurrences();
  for (const Definition& definition :
       {rwkv7(), linear_attention(), delta_net(), three_terms(), constant_decay(), head_decay_in_range(),
        constants_everywhere(), outputs_of_every_axis(), unchanged_state()})
    all.push_back(definition);
  return all;
}

Definition recurrence_named(const std::string& name) {
  for (const Definition& definition : recurrences())
    if (definition.name == name) return definition;
  throw std::invalid_argument("no recurrence is called " + name);
}

std::vector<Definition> unbounded_recurrences() {
  return {rwkv7_logw(),        rwkv6(),
          gated_delta_net(),   two_terms(),
          read_before(),       gated_read(),
          head_decay(),        token_decay(),
          sigmoid_decay(),     delta_after_decay(),
          product_of_deltas(), parameters_everywhere()};
}

}  // namespace wkvc::test
