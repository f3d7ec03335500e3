// The error of one result, over all of it and in the worst of its rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checking/passes.h"
#include "checking/reference/reference.h"
#include "checking/reference/rows.h"
#include "runtime/launch/launch_size.h"
#include "runtime/tensor/tensor.h"

namespace wkvc {

// How far a row is off, and how far it may be, relative to its own norm or, where that is nothing, to the mean of the
// rows' norms. A row is the vector of a token and head, or the state of a head.
struct RowError {
  double error = 0, bound = 0;
  double excess() const;  // the error in bounds; infinity for NaN
};

// The row of a result that is furthest beyond its bound, or nearest to it.
struct WorstRow {
  Place place;
  double error = 0, bound = 0;
};

struct ResultError {
  std::string tensor;
  double error = 0;  // ‖x − ref‖ / ‖ref‖; not finite when anything in x is not
  double bound = 0;
  std::optional<WorstRow> worst;  // none where there are no rows
  std::vector<RowError> rows;
  // Both are false for NaN.
  bool norm_passed() const { return error <= bound; }
  bool rows_passed() const { return !worst || worst->error <= worst->bound; }
  bool passed() const { return norm_passed() && rows_passed(); }
};

// The error of `given` against `expected`, values of `reference` with a rounding of their own or without.
//
// A result passes when its norm is within `bound`, and every row within four times that bound, relative to its own
// norm. Cancellation may cost a right kernel more. Where a norm or a row is beyond, the recurrence therefore is
// computed several times with operands rounded at random (Reference::rounded). A row may then be three times the limit
// of such errors off (ErrorLimit), a norm one and a half times; the error of storing the exact values counts beside. An
// element may always be off by the smallest normal number of f32.
ResultError result_error(const std::string& name, const HostTensor& given, const std::vector<double>& expected,
                         double bound, const Reference& reference, const Runnable& runnable, const TensorSpec& spec);

}  // namespace wkvc
