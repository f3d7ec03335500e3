// Results of a kernel against the recurrence in float64.
#pragma once

#include <string>
#include <vector>

#include "codegen/rec/Rec.h"
#include "tools/cases.h"

namespace wkvc {

struct ResultError {
  std::string tensor;
  double error = 0;  // ‖x − ref‖ / ‖ref‖; not finite when anything in x is not
  double bound = 0;
  bool passed() const { return error <= bound; }  // false for NaN
};

// One for every result, in the manifest's order. `values` are as after execute. Throws UserError when the recurrence
// and the kernel do not have the same tensors.
std::vector<ResultError> compare(rec::RecurrenceOp recurrence, const Manifest& manifest, const Case& values);

}  // namespace wkvc
