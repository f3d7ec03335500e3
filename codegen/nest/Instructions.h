// The families of instructions that multiply tiles: which operands they take, and whether they are asynchronous.
#pragma once

#include <optional>

#include "codegen/nest/Nest.h"

namespace wkvc::nest {

// Fails, with a message at the operation, where instructions of the family do not take such tiles.
mlir::LogicalResult verify_product(mlir::Operation* op, llvm::StringRef family, bool is_async, TileType x, TileType y,
                                   std::optional<TileType> sum, TileType result);

}  // namespace wkvc::nest
