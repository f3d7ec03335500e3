// Activations in float64, for what is computed as a reference. Internal to the interpreters.
#pragma once

#include <algorithm>
#include <cmath>

namespace wkvc::rec {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace wkvc::rec
