// Keys that cost small differences of rounded operands their digits.
#pragma once

#include "tests/run/run.h"

namespace wkvc::test {

// Gives all tokens of RWKV-7 the keys of the first one, and hardly any decay.
inline void repeat_key(Problem& problem, double beta) {
  auto &a = problem.values["a"], &b = problem.values["b"], &w = problem.values["w"], &k = problem.values["k"];
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = a[i % 64];
    b[i] = -beta * a[i];
    k[i] = -a[i];
    w[i] = -6;
  }
}

}  // namespace wkvc::test
