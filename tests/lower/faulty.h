// Recurrences that can't become chunk programs, and what the errors say.
#pragma once

#include <functional>
#include <string>

#include "dsl/wkvc.h"
#include "tests/expect_error.h"

namespace wkvc::test {

// A recurrence over r, k, a (K), v (V), g (scalar), S with the update and the output that `body` makes.
struct Values {
  Recurrence& op;
  Expr r, k, a, v, g, S;

  void finish(const Expr& next, const Expr& output) const {
    op.update(S, next);
    op.output("o", output, f32);
  }
};

inline Definition with(std::function<void(const Values&)> body) {
  return recurrence("faulty", [body](Recurrence& op) {
    Dim K = op.key_dim(32), V = op.value_dim(16);
    op.compute(f16);
    auto [r, k, a] = op.inputs(K, f32, "r", "k", "a");
    auto v = op.input("v", V, f32), g = op.input("g", scalar, f32);
    body({op, r, k, a, v, g, op.state("S", V, K, f32)});
  });
}

inline std::string chunk_text(const Definition& definition, const Config& config = {}) {
  return dump_after(source_from(rec_text(definition, config)), "merge-gradients", config);
}

inline std::string error_of(const Definition& definition, const Config& config = {}) {
  return user_error_of([&] { chunk_text(definition, config); });
}

}  // namespace wkvc::test
