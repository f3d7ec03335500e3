// Results of kernels against the recurrence and its gradients in float64.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "codegen/rec/Gradient.h"
#include "codegen/rec/Rec.h"
#include "tools/cases.h"
#include "tools/passes.h"

namespace wkvc {

struct ResultError {
  std::string tensor;
  double error = 0;  // ‖x − ref‖ / ‖ref‖; not finite when anything in x is not
  double bound = 0;
  bool passed() const { return error <= bound; }  // false for NaN
};

// What the recurrence makes of a case's inputs in float64.
class Reference {
 public:
  // Of the passes that run; `values` may hold results already.
  Reference(rec::RecurrenceOp recurrence, const Runnable& runnable, const Case& values);

  // A result's elements; throws UserError where the recurrence has none of that name.
  const std::vector<double>& of(const TensorSpec& spec) const;

 private:
  std::string op_;
  rec::Result results_;
  rec::Gradients gradients_;
};

// One for every result of the passes, in the manifest's order. `values` are as after execute. Throws UserError when the
// recurrence and the kernels do not have the same tensors.
std::vector<ResultError> compare(const Reference& reference, const Runnable& runnable, const Case& values);
std::vector<ResultError> compare(rec::RecurrenceOp recurrence, const Runnable& runnable, const Case& values);

// Results that the recurrence has and the kernels have not, by name. `gradients` are what gradients are wanted by;
// empty: by everything. Throws UserError where the recurrence has none of such a name.
std::vector<std::string> missing_results(rec::RecurrenceOp recurrence, const Runnable& runnable,
                                         const std::vector<std::string>& gradients);

// The same as compare against what the file holds of the results, "dr (file)". Throws UserError for another shape than
// expected.
std::vector<ResultError> compare_with_file(const std::filesystem::path& path, const Runnable& runnable,
                                           const Case& values);

}  // namespace wkvc
