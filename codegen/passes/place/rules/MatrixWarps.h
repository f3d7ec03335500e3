// The rule of matrices: those that are made of each other go to one warp, those that cost most first, each to the warp
// that has least to do in their phase.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/EquivalenceClasses.h>

#include <string>

#include "codegen/passes/place/Placement.h"

namespace wkvc {

using MatrixGroups = llvm::EquivalenceClasses<mlir::Operation*>;

// Returns the groups of matrices, and of columns of numbers, that one warp reads from its registers. Operations
// `without` tie no others.
MatrixGroups matrix_groups(const Placement& placement, const llvm::DenseSet<mlir::Operation*>& without = {});

// Returns how many warps may have matrices: the first ones of those that share a chunk.
int matrix_warps(const Placement& placement);

// Returns why a text may not put a matrix on a warp, as "has warp = 3; expected warp = 0 to 2"; nothing where it may.
std::string warp_fault(int warp, const Placement& placement);

// Sets the warps of all matrices. Owners and phases are there.
void assign_warps(Placement& placement);

}  // namespace wkvc
