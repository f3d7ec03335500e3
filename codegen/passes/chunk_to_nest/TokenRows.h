// The numbers of tokens that roles read: rows of one tile, which a helper makes for each chunk.
#pragma once

#include <llvm/ADT/SetVector.h>

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Returns the value that a number of tokens has where there are tokens, by the operation that makes it alone.
mlir::Value without_ends(mlir::Value number);

// Returns whether a value has one number for each token.
bool is_of_tokens(mlir::Value value);

// Returns the number of a constant; none where a value is no constant number.
std::optional<double> constant_of(mlir::Value value);

class TokenRows {
 public:
  // Adds a number of tokens, unless it is there.
  void add(mlir::Value number) { rows_.insert(without_ends(number)); }

  // Returns the row of a number that was added.
  int64_t row_of(mlir::Value number) const;

  mlir::ArrayRef<mlir::Value> values() const { return rows_.getArrayRef(); }

 private:
  llvm::SetVector<mlir::Value> rows_;
};

}  // namespace wkvc
