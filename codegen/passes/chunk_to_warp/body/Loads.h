// What lies in shared or global memory, as register tiles.
#pragma once

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// Returns a tile of a value, or of a constant, for the current owner. Gradients of 16 bits are in no unit yet.
mlir::Value loaded(const Environment& env, mlir::Value value);

}  // namespace wkvc
