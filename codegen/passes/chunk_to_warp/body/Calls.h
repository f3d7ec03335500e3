// Calls of the functions of templates/, and the scales that their operands carry.
#pragma once

#include <optional>

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// Returns the values of a tile that may carry a scale.
mlir::Value without_scale(const Environment& env, mlir::Value x);
// Returns the result of a function. Operands lose their scales, unless the result carries their scale, too.
mlir::Value call(Environment& env, llvm::StringRef function, mlir::ValueRange x, mlir::Type type,
                 std::optional<float> constant = {});

}  // namespace wkvc
