// The rule of owners: which warps compute a value follows from the indices that its rows and columns run over.
#pragma once

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// Returns the owner of an operation whose operands have theirs.
Owner owner_by_space(mlir::Operation* op, const Placement& placement);

// Sets the owners of all operations.
void assign_owners(Placement& placement);

// Returns whether an operand goes through shared memory to reach its user, which takes a barrier. Both have owners.
bool crosses(mlir::Value operand, mlir::Operation* user, const Placement& placement);

// Returns whether one warp makes both matrices, of which the user reads the operand from registers. What teams make of
// the states reads matrices of earlier phases from shared memory.
bool are_of_one_warp(mlir::Value operand, mlir::Operation* user, const Placement& placement);

}  // namespace wkvc
