// Keys that cost small differences of rounded operands their digits.
#pragma once

#include <cmath>

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

// The same with no decay at all.
inline void repeat_key_for_ever(Problem& problem, double beta) {
  repeat_key(problem, beta);
  for (double& w : problem.values["w"]) w = -1e4;
}

// Gives all tokens the first `count` numbers, keys of heads of 64, brought to length 1.
inline void repeat_row(std::vector<double>& keys, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 64) {
    double sum = 0;
    for (std::size_t j = i; j < i + 64; ++j) sum += keys[j] * keys[j];
    for (std::size_t j = i; j < i + 64; ++j) keys[j] /= std::sqrt(sum);
  }
  for (std::size_t i = count; i < keys.size(); ++i) keys[i] = keys[i % count];
}

}  // namespace wkvc::test
