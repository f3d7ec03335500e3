// The families of instructions that multiply tiles: which operands they take, and whether they are asynchronous.
#pragma once

#include <optional>
#include <span>

#include "codegen/nest/Nest.h"

namespace wkvc::nest {

struct Family {
  llvm::StringLiteral name;
  Layout x, y, sums;
  bool is_async;      // issued and waited for apart
  int64_t rows_of_x;  // a multiple of that for each four warps or, of mma.sync, for each warp
  int64_t warps;      // that go together: a role has a multiple of them
};

std::span<const Family> families();

// Returns the family of a name; null where there is none.
const Family* family_of(llvm::StringRef name);

// Fails, with a message at the operation, where instructions of the family do not take such tiles.
mlir::LogicalResult verify_product(mlir::Operation* op, llvm::StringRef family, bool is_async, TileType x, TileType y,
                                   std::optional<TileType> sum, TileType result);

}  // namespace wkvc::nest
