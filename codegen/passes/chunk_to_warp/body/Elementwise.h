// What is made by functions of templates/, element by element or along a tile's rows and columns.
#pragma once

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// Returns a sum, a difference or a product, which the function makes.
mlir::Value combined(Environment& env, mlir::Operation* op, const char* function);
// Returns the result of the function that takes the operation's tiles, and a number if the operation has one.
mlir::Value by_function(Environment& env, mlir::Operation* op);

}  // namespace wkvc
