// Pieces that several built-in recurrences share. Internal to dsl/operators/.
#pragma once

#include <string>

#include "dsl/wkvc.h"

namespace wkvc::operators {

// The least log decay that is declared where nothing bounds a layer's: as good as no bound.
inline constexpr double unbounded = -1e6;

// Returns x in f32.
Expr widened(const Expr& x);

// Returns x times a factor; x itself where that is 1.
Expr scaled(const Expr& x, double factor);

Expr silu(const Expr& x);

// The option "lower_bound" of log decays.
double lower_bound_option(Recurrence& op);

// The options of RWKV's recurrences: "decay" and "lower_bound" say what the input of decays means, "scale" multiplies
// outputs, "decay_dtype" stores decays as the other inputs or in f32.
struct RwkvOptions {
  explicit RwkvOptions(Recurrence& op);

  bool is_log;  // the input is the log decay, between lower_bound and 0
  double lower_bound, scale;
  DType decay_dtype;

  // Returns the log decay that the input is, where it is that.
  Expr declared(Recurrence& op, const Expr& w) const;
};

// Queries, keys and values in the conventions of flash-linear-attention: inputs over keys and values are stored in
// bf16, numbers in f32; the state is S[V,K], and the output o = scale S' q with the option "scale", 1/√K unless set.
struct Attention {
  Attention(Recurrence& recurrence, int keys, int values);

  Expr key(const std::string& name) { return op.input(name, K, bf16); }
  Expr value(const std::string& name) { return op.input(name, V, bf16); }
  Expr number(const std::string& name) { return op.input(name, scalar, f32); }
  Expr channel(const std::string& name) { return op.input(name, K, f32); }  // a number for each key
  Expr state() { return op.state("S", V, K, f32); }
  // Ends the definition with the next state, and what q reads of it.
  void finish(const Expr& S, const Expr& next, const Expr& q);

  Recurrence& op;
  Dim K, V;
  double scale;
};

// The options "qk_norm" and "norm_eps": queries and keys as they are, or each divided by √(Σx² + eps).
struct Norms {
  explicit Norms(Recurrence& op);
  Expr of(const Expr& x) const;

  bool are_taken;
  double epsilon;
};

// The options "gate" and "lower_bound": g is the log decay, or what a layer's gate makes log decays of, with
// parameters A_log and dt_bias of each head.
struct Gate {
  explicit Gate(Recurrence& op);
  // Returns the log decay. dt_bias is as long as g, a number or one for each key.
  Expr of(Recurrence& op, const Expr& g, Dim bias) const;

  std::string kind;
  double lower_bound;
};

// The options "beta_sigmoid" and "beta_most": beta is the share of the old value that goes, up to 1 or 2, or what a
// sigmoid makes that share of.
struct WriteStrength {
  explicit WriteStrength(Recurrence& op);
  Expr of(const Expr& beta) const;

  bool is_sigmoid;
  double most;
};

// The delta rule, Schlag, Irie, Schmidhuber 2021 (arXiv:2102.11174): the value of the state under the key `read` moves
// towards v by the part beta, S + beta (v - S read) writtenᵀ.
Expr delta_rule(Recurrence& op, const std::string& name, const Expr& S, const Expr& beta, const Expr& v,
                const Expr& read, const Expr& written);

}  // namespace wkvc::operators
