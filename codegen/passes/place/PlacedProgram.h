// A placed program as a kernel takes it: the scales of its sums, the numbers its teams leave, and its shared memory.
#pragma once

#include "codegen/passes/place/PlacedNumbers.h"
#include "codegen/passes/place/SumScales.h"
#include "codegen/passes/place/memory/SharedPlan.h"

namespace wkvc {

struct PlacedProgram {
  // `spaces` and `first_phase` are those of SharedPlan. All but `shared` is finished.
  PlacedProgram(const Placement& placed, const Plan& plan, std::deque<SharedBuffer>& spaces, int first_phase);
  PlacedProgram(const PlacedProgram&) = delete;  // whose parts refer to each other
  PlacedProgram& operator=(const PlacedProgram&) = delete;

  // Plans the shared memory, with numbers. Where no barrier follows the first phase, nothing but inputs is copied
  // ahead.
  void plan_shared(const Plan& plan, Ahead prefetch);

  // Returns whether a barrier follows the first phase of what teams prepare.
  bool has_second_phase() const;

  // Returns the scales of a state's sums; null if there are none.
  const SumScales* find_sums(mlir::Operation* state) const;
  bool is_product(mlir::Operation* dot) const;  // that is added up as it is
  bool is_as_is(mlir::Operation* round) const;  // of a sum, in the scale it has

  const Placement& placement;
  chunk::ProgramOp program;
  std::vector<SumScales> sums;
  PlacedNumbers numbers;
  SharedPlan shared;
};

}  // namespace wkvc
