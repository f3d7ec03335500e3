// The place of an operation in its kernel, from the regions around the operation.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Returns whether the operation is in a sweep over groups of chunks, or over rounds.
bool is_in_groups(mlir::Operation* op);
bool is_in_rounds(mlir::Operation* op);

// Returns the sweep over chunks that the operation is in; null outside of such sweeps.
warp::SweepOp loop_around(mlir::Operation* op);

// Returns the variable of the warps that do the operation: of the block or of a team.
const char* warps_of(mlir::Operation* op);

}  // namespace wkvc
