#include "checking/reference/result_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "checking/reference/bounds.h"
#include "runtime/error.h"

namespace wkvc {
namespace {

constexpr double smallest_normal = 0x1p-126;
constexpr double row_factor = 4;  // what a row may be off, in bounds of its tensor
// What the roundings of a kernel cost, at most, in those of the token recurrence: of a row, and of many.
constexpr double of_kernel_row = 3, of_kernel = 1.5;

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

// What the norm of so many elements counts as at least: below the smallest normal number f32 holds no digits, and that
// is the bound of such elements.
double least_norm(std::size_t elements, double bound) {
  return std::sqrt(static_cast<double>(std::max<std::size_t>(elements, 1))) * smallest_normal / bound;
}

// A vector's error beside its bound. `cost` gives the distance that rounding may cost; nothing but a distance beyond
// the bound needs it. Both numbers are relative to the vector's norm or, where that counts for more than it is, to
// `usual`.
template <class F>
RowError relative(const Squares& squares, std::size_t elements, double bound, double usual, F cost) {
  const double norm = std::sqrt(squares.norm), least = least_norm(elements, bound),
               distance = std::sqrt(squares.distance);
  const double scale = std::max(norm, least), own = bound * scale;
  const double costs = distance > own && std::isfinite(distance) ? cost() : 0;
  const double allowed = std::isfinite(costs) ? std::max(own, costs) : own;
  const double shown = norm < least ? std::max(least, usual) : norm;
  return {distance / shown, allowed == own && shown == scale ? bound : allowed / shown};
}

// The values as the result stores them.
HostTensor stored_as(DType dtype, const std::vector<double>& values) {
  HostTensor stored(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) stored.set(i, values[i]);
  return stored;
}

// What rounding may cost a result, computed when it is asked for.
class RoundingCost {
 public:
  RoundingCost(const Reference& reference, const Runnable& runnable, const Rows& rows, const TensorSpec& spec)
      : reference_(reference),
        precision_(precision_of(runnable.manifest)),
        rows_(rows),
        spec_(spec),
        stored_(squares_of(rows, stored_as(spec.dtype, reference.of(spec)), reference.of(spec))) {}

  double of_row(std::size_t row) const {
    const ErrorLimit& limit = cost_of(row % rows_.heads()).rows.at(row / rows_.heads());
    return together(stored_[row].distance, limit, of_kernel_row);
  }

  // Returns what rounding may cost all rows together: as much as it may cost the worst of them, or more.
  double of_all() const {
    ErrorDraws draws;
    for (std::size_t head = 0; head < std::min(rows_.heads(), rows_.count()); ++head) draws += cost_of(head).all;
    double most = together(sum_of(stored_).distance, draws.limit(), of_kernel);
    for (std::size_t row = 0; row < rows_.count(); ++row) most = std::max(most, of_row(row));
    return most;
  }

 private:
  const Reference::HeadCost& cost_of(std::size_t head) const { return reference_.rounded(precision_, spec_, head); }

  // The error of storage, whose square is given, and `factor` times that of operands. They are as likely to point the
  // same way as vectors of so many dimensions as the latter has.
  static double together(double stored_square, const ErrorLimit& limit, double factor) {
    const double rounded = factor * limit.norm;
    return std::sqrt(stored_square + rounded * rounded + 2 * std::sqrt(stored_square / limit.freedom) * rounded);
  }

  const Reference& reference_;
  Precision precision_;
  const Rows& rows_;
  const TensorSpec& spec_;
  std::vector<Squares> stored_;  // how far the reference itself is off as it is stored
};

double mean_norm(const std::vector<Squares>& rows) {
  return rows.empty() ? 0 : std::sqrt(sum_of(rows).norm / static_cast<double>(rows.size()));
}

std::optional<WorstRow> worst_of(const std::vector<RowError>& errors, const Rows& rows) {
  const auto worst = std::ranges::max_element(errors, {}, &RowError::excess);
  if (worst == errors.end()) return std::nullopt;
  return WorstRow{rows.place(static_cast<std::size_t>(worst - errors.begin())), worst->error, worst->bound};
}

}  // namespace

double RowError::excess() const { return std::isnan(error) ? std::numeric_limits<double>::infinity() : error / bound; }

ResultError result_error(const std::string& name, const HostTensor& given, const std::vector<double>& expected,
                         double bound, const Reference& reference, const Runnable& runnable, const TensorSpec& spec) {
  const Rows rows(spec, runnable.manifest, reference.size());
  const std::vector<Squares> squares = squares_of(rows, given, expected);
  const RoundingCost cost(reference, runnable, rows, spec);
  const double usual = mean_norm(squares);
  const RowError all = relative(sum_of(squares), given.size(), bound, /*usual=*/0, [&] { return cost.of_all(); });
  ResultError found{name, all.error, all.bound, {}, {}};
  for (std::size_t row = 0; row < squares.size(); ++row)
    found.rows.push_back(
        relative(squares[row], rows.length(), row_factor * bound, usual, [&] { return cost.of_row(row); }));
  found.worst = worst_of(found.rows, rows);
  return found;
}

}  // namespace wkvc
