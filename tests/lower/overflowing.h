// Gates of which some factor is infinite while nothing comes of it: the state decays to zero, or a sigmoid saturates.
// Every gradient of the gate is then 0.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dsl/wkvc.h"

namespace wkvc::test {

struct OverflowingGate {
  Definition definition;
  std::map<std::string, double> in_f32, in_f64;  // values of the first of two heads with which a factor overflows
  std::vector<std::string> zeros;                // inputs whose gradients are 0 in that head
};

std::vector<OverflowingGate> overflowing_gates();

// Sets the values of the first of two heads. A tensor's elements go by tokens, then by heads, then by channels.
void overflow(const std::map<std::string, double>& values, std::map<std::string, std::vector<double>>& tensors,
              std::int64_t tokens);

// Returns the largest |x| among the elements of the first of two heads; infinity where one is not finite.
double largest_of_first_head(const std::vector<double>& x, std::int64_t tokens);

}  // namespace wkvc::test
