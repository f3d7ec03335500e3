// Which matrices of tokens by tokens are triangular, by the operations that select a triangle and those that keep it.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// The halves of a matrix that are zero whatever the inputs are, infinite and NaN ones included.
struct Triangle {
  bool lower = false;  // zero above its diagonal
  bool upper = false;  // zero below its diagonal

  Triangle transposed() const { return {upper, lower}; }
};

class Triangles {
 public:
  // The triangle of a value; none of its elements is known to be zero where that has neither half.
  Triangle of(mlir::Value x);

 private:
  Triangle found(mlir::Operation* op);

  llvm::DenseMap<mlir::Value, Triangle> known_;
};

}  // namespace wkvc
