// The unit that gradients of plain backward kernels are in: how they come into it and out of it.
#pragma once

#include "codegen/passes/chunk_to_warp/BuildContext.h"

namespace wkvc {

// Returns whether an input is a gradient that has a unit.
bool has_unit(const BuildContext& c, mlir::Value input);
// Returns the f32 values x of an input in the unit.
mlir::Value over_unit(const BuildContext& c, mlir::Value input, mlir::Value x);
// Returns the tile of a gradient as it goes out.
mlir::Value times_unit(const BuildContext& c, mlir::Value gradient);

}  // namespace wkvc
