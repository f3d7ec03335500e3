// Functions of numbers in float64, for what is bounded or computed as a reference.
#pragma once

#include <algorithm>
#include <cmath>

namespace wkvc::rec {

// Returns x times y, and 0 where one of the two is 0, the other infinite or not.
inline double product(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace wkvc::rec
