// The operands of contractions.
#pragma once

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// A register tile or a shared tile, and its scale if it has one outside itself.
struct ReadOperand {
  mlir::Value tile;
  mlir::Value scale;
  mlir::Value column;  // of a shared tile: the first of the 16 meant

  bool is_shared() const { return warp::is_in_shared_memory(tile); }
};

// Returns the value as an operand whose tile (after an optional transposition by the reader) has the contraction in its
// columns.
ReadOperand operand(Environment& env, mlir::Value value, bool contracts_columns);
// Returns an operand of a share that is contracted over all rows: the share's columns, transposed.
mlir::Value columns_of_share(Environment& env, mlir::Value value);

}  // namespace wkvc
