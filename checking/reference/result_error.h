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

// The row of a result that is furthest beyond its bound, or nearest to it.
struct WorstRow {
  Place place;
  double error = 0, bound = 0;  // relative to the row's norm or, where that is nothing, to the mean of the rows' norms
};

struct ResultError {
  std::string tensor;
  double error = 0;  // ‖x − ref‖ / ‖ref‖; not finite when anything in x is not
  double bound = 0;
  std::optional<WorstRow> worst;  // none where there are no rows
  // Both are false for NaN.
  bool norm_passed() const { return error <= bound; }
  bool rows_passed() const { return !worst || worst->error <= worst->bound; }
  bool passed() const { return norm_passed() && rows_passed(); }
};

// The error of `given` against `expected`, values of `reference` with a rounding of their own or without.
//
// A result passes when its norm is within `bound`, and every row (the vector of a token and head, the state of a head)
// within four times that bound, relative to its own norm. Cancellation and storage may cost a right kernel more. Where
// a norm or a row is beyond, the recurrence therefore is computed again several times with operands rounded at random
// (Reference::rounded), and the error may be the mean of those errors and nine standard deviations. A gradient's row of
// zeros may be off by a part of the mean row (zero_row_for), which is what is left where terms cancel. A row of one
// number may also be off by four bounds of the terms of its sum, which the same errors tell, and a vector by half a
// bound. An element may always be off by the smallest normal number of f32.
ResultError result_error(const std::string& name, const HostTensor& given, const std::vector<double>& expected,
                         double bound, const Reference& reference, const Runnable& runnable, const TensorSpec& spec);

}  // namespace wkvc
