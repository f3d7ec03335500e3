#include "checking/reference/result_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "checking/reference/bounds.h"
#include "codegen/rec/reference/Rounding.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr double smallest_normal = 0x1p-126;
constexpr double row_factor = 4;  // what a row may be off, in bounds of its tensor

// A vector's distance from the reference, and the reference's norm; the squares of both.
struct Squares {
  double distance = 0, norm = 0;
  void add(double x, double reference) {
    distance += (x - reference) * (x - reference);
    norm += reference * reference;
  }
};

std::vector<Squares> squares_of(const Rows& rows, const HostTensor& given, const std::vector<double>& reference) {
  if (given.size() != reference.size()) internal_error("{} elements against {}", given.size(), reference.size());
  std::vector<Squares> squares(rows.count());
  for (std::size_t i = 0; i < reference.size(); ++i) squares[i / rows.length()].add(given.get(i), reference[i]);
  return squares;
}

Squares sum_of(const std::vector<Squares>& rows) {
  Squares sum;
  for (const Squares& row : rows) {
    sum.distance += row.distance;
    sum.norm += row.norm;
  }
  return sum;
}

// The mean and nine standard deviations of errors whose squares were drawn, and a millionth for adding up in another
// order.
double spread_of(const std::vector<double>& squares) {
  if (squares.empty()) return 0;
  const auto count = static_cast<double>(squares.size());
  double sum = 0, sum_of_squares = 0;
  for (const double square : squares) {
    sum += std::sqrt(square);
    sum_of_squares += square;
  }
  const double mean = sum / count;
  const double variance = std::max(sum_of_squares / count - mean * mean, 0.0) * count / (count - 1);
  return (mean + 9 * std::sqrt(variance)) * (1 + 1e-6);
}

double root_mean(const std::vector<double>& squares) {
  double sum = 0;
  for (const double square : squares) sum += square;
  return squares.empty() ? 0 : std::sqrt(sum / static_cast<double>(squares.size()));
}

// A distance and what it may be, relative to the norm of the reference.
struct Relative {
  double error = 0, bound = 0;
  double excess() const { return std::isnan(error) ? std::numeric_limits<double>::infinity() : error / bound; }
};

// What the norm of so many elements counts as at least: below the smallest normal number f32 holds no digits, and that
// is the bound of such elements.
double least_norm(std::size_t elements, double bound) {
  return std::sqrt(static_cast<double>(std::max<std::size_t>(elements, 1))) * smallest_normal / bound;
}

// A vector's error beside its bound. `cost` gives the distance that rounding may cost; nothing but a distance beyond
// the bound needs it. Both numbers are relative to the vector's norm or, where that counts for more than it is, to
// `usual`. A vector of zeros may be off by `of_zeros`.
template <class F>
Relative relative(const Squares& squares, std::size_t elements, double bound, double usual, double of_zeros, F cost) {
  const double norm = std::sqrt(squares.norm), least = least_norm(elements, bound),
               distance = std::sqrt(squares.distance);
  const double scale = std::max(norm, least), own = std::max(bound * scale, norm == 0 ? of_zeros : 0);
  const double allowed = distance > own ? std::max(own, cost()) : own;
  const double shown = norm < least ? std::max(least, usual) : norm;
  return {distance / shown, allowed == bound * scale && shown == scale ? bound : allowed / shown};
}

// What rounding costs a result, computed when it is asked for.
class RoundingCost {
 public:
  RoundingCost(const Reference& reference, const Runnable& runnable, const Rows& rows, const TensorSpec& spec)
      : reference_(reference), precision_(precision_of(runnable.manifest)), rows_(rows), spec_(spec) {}

  // Returns what one row may be off: by rounding of operands, and by a share of `bound` of the terms that it is the sum
  // of.
  double of_row(std::size_t row, double bound) const {
    const std::vector<double>& draws = draws_of(row);
    return std::max(spread_of(draws), share_of_terms() * bound * terms_of(draws));
  }

  // Returns what rounding may cost all rows together, without rows that are zero in the reference, unless all are.
  double of_all(const std::vector<Squares>& squares) const {
    std::vector<double> sums;
    const bool all_zero = sum_of(squares).norm == 0;
    for (std::size_t row = 0; row < rows_.count(); ++row) {
      if (squares[row].norm == 0 && !all_zero) continue;
      const std::vector<double>& draws = draws_of(row);
      sums.resize(draws.size());
      for (std::size_t draw = 0; draw < draws.size(); ++draw) sums[draw] += draws[draw];
    }
    return spread_of(sums);
  }

 private:
  // Squared errors of one row, by draw.
  const std::vector<double>& draws_of(std::size_t row) const {
    return reference_.rounded(precision_, spec_, row % rows_.heads()).at(row / rows_.heads());
  }

  // One number often is the rest that others leave. A vector is where such a number multiplies another vector; most
  // have a fourth of their terms or more. Of storage in 16 bits most errors of draws are the storage's.
  double share_of_terms() const {
    if (spec_.dtype != DType::f32) return 0;
    return rows_.length() == 1 ? 1 : 1. / 8;
  }

  // The root of the sum of squares of the terms that a row is the sum of, as far as errors of draws tell.
  double terms_of(const std::vector<double>& draws) const {
    const int bits = is_gradient(spec_.role) ? precision_.backward : precision_.forward;
    return root_mean(draws) / rec::Rounding::deviation(bits, precision_.operands);
  }

  const Reference& reference_;
  Precision precision_;
  const Rows& rows_;
  const TensorSpec& spec_;
};

double mean_norm(const std::vector<Squares>& rows) {
  return rows.empty() ? 0 : std::sqrt(sum_of(rows).norm / static_cast<double>(rows.size()));
}

std::optional<WorstRow> worst_of(const std::vector<Squares>& squares, const Rows& rows, double bound, double zero_row,
                                 const RoundingCost& cost) {
  const double usual = mean_norm(squares), of_zeros = zero_row * usual;
  std::optional<WorstRow> worst;
  double most = -1;
  for (std::size_t row = 0; row < squares.size(); ++row) {
    const Relative found =
        relative(squares[row], rows.length(), bound, usual, of_zeros, [&] { return cost.of_row(row, bound); });
    if (found.excess() <= most) continue;
    most = found.excess();
    worst = {rows.place(row), found.error, found.bound};
  }
  return worst;
}

}  // namespace

ResultError result_error(const std::string& name, const HostTensor& given, const std::vector<double>& expected,
                         double bound, const Reference& reference, const Runnable& runnable, const TensorSpec& spec) {
  const Rows rows(spec, runnable.manifest, reference.size());
  const RoundingCost cost(reference, runnable, rows, spec);
  const std::vector<Squares> squares = squares_of(rows, given, expected);
  const Relative norm =
      relative(sum_of(squares), given.size(), bound, /*usual=*/0, /*of_zeros=*/0, [&] { return cost.of_all(squares); });
  const double zero_row = is_gradient(spec.role) ? zero_row_for(runnable.manifest) : 0;
  return {name, norm.error, norm.bound, worst_of(squares, rows, row_factor * bound, zero_row, cost)};
}

}  // namespace wkvc
