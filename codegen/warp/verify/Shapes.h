// Shapes and numbers of operations, for their verifiers.
#pragma once

#include <cmath>

#include "codegen/warp/verify/Rules.h"

namespace wkvc::warp {

inline llvm::ArrayRef<int64_t> shape_of(mlir::Value x) { return llvm::cast<TileType>(x.getType()).getShape(); }

inline bool is_stored(mlir::Type element) { return element.isF32() || element.isF16() || element.isBF16(); }

// Each fails with a message of `op` where its name does not hold.
bool has_shape(mlir::Value x, int64_t rows, int64_t columns);
mlir::LogicalResult expect_shape(mlir::Operation* op, mlir::Value x, int64_t rows, int64_t columns);
// A matrix whose low terms lie behind its diagonal is square, and moved as a whole: `part` says that it is not.
mlir::LogicalResult verify_folded(mlir::Operation* op, mlir::Value x, bool part);
mlir::LogicalResult verify_number(mlir::Operation* op, const char* what, uint64_t attribute, int64_t lo, int64_t hi);
mlir::LogicalResult verify_finite(mlir::Operation* op, const llvm::APFloat& number);
mlir::LogicalResult verify_stored(mlir::Operation* op, mlir::Type dtype);
mlir::LogicalResult verify_architecture(mlir::Operation* op, llvm::StringRef arch);  // is one that kernels are for

}  // namespace wkvc::warp
