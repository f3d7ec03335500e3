#include "checking/reference/error_draws.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wkvc {
namespace {

constexpr double one_in_a_million = 4.7534;  // the normal number that only so many exceed

// Returns the quantile of the F distribution with so many degrees of freedom, by Paulson's approximation: the cube
// roots of numerator and denominator are nearly normal. The quantile is right to 1 % from 10 degrees on, and too large
// below.
double f_quantile(double numerator, double denominator) {
  const double a = 2 / (9 * numerator), b = 2 / (9 * denominator), z = one_in_a_million * one_in_a_million;
  // (1 - b) x - (1 - a) = z √(b x² + a), squared
  const double square = (1 - b) * (1 - b) - z * b, half = (1 - a) * (1 - b), rest = (1 - a) * (1 - a) - z * a;
  const double root = (half + std::sqrt(std::max(half * half - square * rest, 0.0))) / square;
  return root * root * root;
}

}  // namespace

ErrorDraws::ErrorDraws(const std::array<std::span<const double>, count>& errors) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      products_[i][j] = std::inner_product(errors[i].begin(), errors[i].end(), errors[j].begin(), 0.0);
}

ErrorDraws& ErrorDraws::operator+=(const ErrorDraws& other) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j <= i; ++j) products_[i][j] += other.products_[i][j];
  return *this;
}

double ErrorDraws::mean_square() const {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += products_[i][i];
  return sum / count;
}

// (tr Σ)² / tr Σ² of the errors' covariance Σ, each estimated from pairs of draws.
double ErrorDraws::freedom() const {
  double of_traces = 0, of_products = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      of_traces += products_[i][i] * products_[j][j];
      of_products += products_[i][j] * products_[i][j];
    }
  return of_products > 0 ? of_traces / of_products : 1;
}

ErrorLimit ErrorDraws::limit() const {
  const double degrees = freedom();
  return {std::sqrt(mean_square() * f_quantile(degrees, degrees * count)), degrees};
}

}  // namespace wkvc
