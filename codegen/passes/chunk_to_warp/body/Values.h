// The values of a chunk: an operation is built when its result is needed, by whoever needs the result.
#pragma once

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// Returns a value in registers, for elementwise use by the current owner.
mlir::Value tile_of(Environment& env, mlir::Value value);

// Builds an operation, and stores what others read.
void compute(Environment& env, mlir::Operation* op);
// Builds operations in order. Outputs come last and together, so that they are stored in one go.
void compute_all(Environment& env, const std::vector<mlir::Operation*>& ops);

}  // namespace wkvc
