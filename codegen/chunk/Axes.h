// Which index a dimension of a chunk value runs over. It follows from what the program declares of its inputs and
// state, not from sizes: keys and values may be equally many.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "codegen/chunk/Chunk.h"

namespace wkvc {

enum class Axis { one, token, key, value };

struct Space {
  Axis rows = Axis::one, columns = Axis::one;
  friend bool operator==(const Space&, const Space&) = default;
};

using Spaces = llvm::DenseMap<mlir::Value, Space>;

std::string dims_of(Space space);  // "TK": tokens × keys; 1 for one

Spaces infer_spaces(chunk::ProgramOp program);  // throws UserError where operations mix axes

}  // namespace wkvc
