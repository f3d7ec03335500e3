// Results of kernels against the recurrence and its gradients in float64.
#pragma once

#include <string>
#include <vector>

#include "checking/passes.h"
#include "checking/reference/reference.h"
#include "checking/reference/result_error.h"
#include "checking/values/cases.h"
#include "codegen/rec/Rec.h"

namespace wkvc {

// One for every result of the passes, in the manifest's order. `values` are as after execute. Throws UserError when the
// recurrence and the kernels do not have the same tensors.
std::vector<ResultError> compare(const Reference& reference, const Runnable& runnable, const Case& values);

// Results that the recurrence has and the kernels have not, by name. `gradients` are what gradients are wanted by;
// empty: by everything. Throws UserError where the recurrence has none of such a name.
std::vector<std::string> missing_results(rec::RecurrenceOp recurrence, const Runnable& runnable,
                                         const std::vector<std::string>& gradients);

// Gradients that the kernels give and nobody wants, by name. `gradients` are as above.
std::vector<std::string> unwanted_results(rec::RecurrenceOp recurrence, const Runnable& runnable,
                                          const std::vector<std::string>& gradients);

// The same as compare against what the file holds of the results, "dr (file)". Throws UserError for another shape than
// expected.
std::vector<ResultError> compare_with_file(const SafetensorsFile& file, const Reference& reference,
                                           const Runnable& runnable, const Case& values);

}  // namespace wkvc
