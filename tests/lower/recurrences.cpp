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

// Decays whose range leaves f16's factors by a little.
Definition gentle_decays() {
  return with_head("gentle_decays", [](Head& at) {
    auto log_w = at.op.input("log_w", at.K, f32).in(-1, 0);
    auto a = at.key("a"), b = at.key("b"), k = at.k;
    auto next = at.S * diag(exp(log_w)) + outer(dot(at.S, a), b) - outer(dot(at.S, k), k) + outer(at.v, k);
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

// As in Mamba-2 and gated delta networks: A_log and dt_bias are one number a head, and so is the skip.
Definition gate_of_head() {
  return with_head("gate_of_head", [](Head& at) {
    auto rate = at.op.parameter("A_log", scalar, f32), bias = at.op.parameter("dt_bias", scalar, f32);
    auto log_w = at.op.let("log_w", -exp(rate) * softplus(at.number("dt") + bias));
    auto next = exp(log_w) * at.S + outer(at.v, at.k);
    at.finish(next, dot(next, at.r) + at.op.parameter("D", scalar, f32) * cast<f32>(at.v));
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

// Numbers that scale reads of the state: constants, tokens' and reciprocals, on either side; and reads that are
// negated, subtracted, assumed to lie in a range and summed in any order.
Definition scaled_reads() {
  return with_head("scaled_reads", [](Head& at) {
    auto gate = sigmoid(at.number("gate")), v = cast<f32>(at.v);
    auto over = reciprocal(gate + 1.0f);
    auto a = at.key("a"), b = at.key("b");
    auto read = 0.5f * (-(0.1f + dot(at.S, at.k)) + 0.3f) * 2.0f - 0.2f, other = -(dot(at.S, a) * 0.25f).in(-1e6, 1e6);
    auto next = outer(v - read, at.k) + (outer(over * (other - (v - gate * dot(at.S, b))), b) + at.S);
    at.finish(next, over * dot(next, at.r) - gate * (v * dot(at.S, at.k)));
  });
}

// States that are subtracted twice, or scaled by two negative numbers, are added.
Definition subtracted_twice() {
  return with_head("subtracted_twice", [](Head& at) {
    auto without = outer(at.v, at.k) - 0.9f * at.S;
    auto flipped = -1.0f * (at.S - outer(dot(without, at.r), at.k));
    auto next = outer(at.v, at.r) - -0.5f * (-1.5f * flipped);
    at.finish(next - outer(dot(flipped, at.k), at.k), dot(without, at.r) + dot(flipped, at.k));
  });
}

// Keys and values times scalars that are contractions themselves, on either side of what reads and writes the state.
Definition products_of_inputs() {
  return with_head("products_of_inputs", [](Head& at) {
    auto a = cast<f32>(at.key("a")), k = cast<f32>(at.k), v = cast<f32>(at.v), r = cast<f32>(at.r);
    auto along = dot(a, k) * k, across = dot(v, v) * v, gate = tanh(dot(a, k) * v);
    auto next = at.S * diag(exp(at.log_decay())) + outer(gate, along) + outer(v * dot(along, a), a * k) +
                outer(0.25f * across, k) - outer(dot(at.S, dot(r, k) * a), along * a);
    at.finish(next, dot(next, along) + dot(r, k) * (gate - v));
  });
}

// What is read after the update goes into a matrix that is read, too.
Definition read_of_a_read() {
  return with_head("read_of_a_read", [](Head& at) {
    auto a = at.key("a"), b = at.key("b");
    auto next = at.S * diag(exp(at.log_decay())) - outer(dot(at.S, at.k), at.k) + outer(at.v, at.k);
    at.finish(next, dot(next + outer(0.5f * dot(next, a) - cast<f32>(at.v), b), at.r));
  });
}

Definition unchanged_state() {
  return with_head("unchanged_state", [](Head& at) { at.finish(at.S, dot(at.S, at.r) + dot(at.S, at.k)); });
}

}  // namespace

std::vector<Definition> recurrences() {
  std::vector<Definition> all = unbounded_recurrences();
  for (const Definition& definition : {rwkv7(), linear_attention(), delta_net(), three_terms(), constant_decay(),
                                       head_decay_in_range(), constants_everywhere(), outputs_of_every_axis(),
                                       unchanged_state(), scaled_reads(), subtracted_twice(), gentle_decays()})
    all.push_back(definition);
  return all;
}

Definition recurrence_named(const std::string& name) {
  for (const Definition& definition : recurrences())
    if (definition.name == name) return definition;
  throw std::invalid_argument("no recurrence is called " + name);
}

std::vector<Definition> unbounded_recurrences() {
  return {rwkv7_logw(),         rwkv6(),
          gated_delta_net(),    two_terms(),
          read_before(),        gated_read(),
          head_decay(),         token_decay(),
          sigmoid_decay(),      delta_after_decay(),
          product_of_deltas(),  parameters_everywhere(),
          products_of_inputs(), read_of_a_read(),
          gate_of_head()};
}

}  // namespace wkvc::test
