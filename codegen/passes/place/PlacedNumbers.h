// The numbers about scales that a team leaves in shared memory: what a team works out once is not worked out again by
// those who take states through its chunk, or after.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/passes/place/SumScales.h"

namespace wkvc {

// Of those that the state's rounding takes.
std::string slope_name(const SumScales& sums);
std::string offset_name(const SumScales& sums);

// Returns what the scale of an operand is called: by the inputs of its bound, or by the value where there are several.
std::string scale_name(chunk::RoundOp round);

class PlacedNumbers {
 public:
  // `sums`: of all states that have any. `teams` that prepare a chunk each.
  PlacedNumbers(const Placement& placement, const std::vector<SumScales>& sums, bool by_teams);

  bool any() const { return any_; }  // whether teams leave numbers
  // By name, in order. Each scale has another one; of those of states' operands each operand has one.
  const std::vector<std::string>& names() const { return names_; }
  const std::string* name_of_scale(mlir::Operation* round) const;  // null if it leaves none

  bool shares_scale(chunk::RoundOp round) const;  // made before states come, for those who take them and others later
  bool leaves_scale(chunk::RoundOp round) const;  // made by value rows in a scale that all have, for others

 private:
  void name_scales();

  const Placement& placement_;
  const std::vector<SumScales>& sums_;
  bool any_;
  std::vector<std::string> names_;
  llvm::DenseMap<mlir::Operation*, std::string> of_scales_;
};

}  // namespace wkvc
