#include "codegen/rec/reference/Rounding.h"

#include <cmath>

namespace wkvc::rec {
namespace {

constexpr std::size_t table_size = 8191;  // a prime, so that the errors of a matrix's rows are not the same

}  // namespace

Rounding::Rounding(double bits, std::uint64_t seed, double rest_bits)
    : engine_(seed), factors_(table_size), rest_(std::exp2(-rest_bits)) {
  std::uniform_real_distribution<double> exponent(0, 1);
  for (double& factor : factors_) factor = 1 + error() * std::exp2(-bits - exponent(engine_));
}

double Rounding::rest() { return rest_ * error(); }

double Rounding::error() { return std::uniform_real_distribution<double>(-1, 1)(engine_); }

void Rounding::apply(const Array& exact, Array& rounded) {
  std::size_t at = engine_() % table_size;
  rounded.resize(exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    rounded[i] = exact[i] * factors_[at];
    if (++at == table_size) at = 0;
  }
}

}  // namespace wkvc::rec
