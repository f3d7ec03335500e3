// Products of pairs of tokens: q·kᵀ or k·kᵀ times decays, below the diagonal.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

struct Pairs {
  chunk::DotOp products;                // of tokens i and j
  mlir::Value sums;                     // of log2 decays up to each token
  llvm::SmallVector<mlir::Value> rows;  // numbers of token i that multiply
  double number = 1;                    // and a constant
  bool strict = false;                  // j < i, else j ≤ i
};

// Returns the products that a matrix of tokens × tokens is made of. Throws UserError for other matrices.
Pairs pairs_of(mlir::Value matrix);

}  // namespace wkvc
