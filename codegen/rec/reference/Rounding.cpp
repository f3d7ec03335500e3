#include "codegen/rec/reference/Rounding.h"

#include <cmath>
#include <numbers>

namespace wkvc::rec {
namespace {

constexpr std::size_t table_size = 8191;  // a prime, so that the errors of a matrix's rows are not the same

double share_of(Rounded operands) { return operands == Rounded::all ? 1 : std::numbers::sqrt2 / 2; }

}  // namespace

Rounding::Rounding(int bits, std::uint64_t seed, Rounded operands) : engine_(seed), factors_(table_size) {
  std::uniform_real_distribution<double> exponent(0, 1);
  for (double& factor : factors_)
    factor = 1 + share_of(operands) * std::ldexp(error() * std::exp2(-exponent(engine_)), -bits);
}

// Returns the deviation of the product of a uniform number from -1 to 1 and 2^-e with e uniform from 0 to 1.
double Rounding::deviation(int bits, Rounded operands) {
  const double squares = (1. / 3) * (3 / (8 * std::numbers::ln2));
  return share_of(operands) * std::ldexp(std::sqrt(squares), -bits);
}

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
