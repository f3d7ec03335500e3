// Operations in a row that the text has as one call: what follows does not wait for what precedes.
#pragma once

#include <vector>

#include "codegen/warp/Warp.h"

namespace wkvc {

// Copies of one chunk, with the same distance and direction.
bool are_alike(warp::CopyOp a, warp::CopyOp b);
inline bool are_alike(mlir::Operation*, mlir::Operation*) { return true; }

// Returns whether the operation is part of a call with the one before it, of the same kind.
template <class Op>
bool joins_last(mlir::Operation& op) {
  return mlir::isa<Op>(op) && mlir::isa_and_nonnull<Op>(op.getPrevNode()) &&
         are_alike(mlir::cast<Op>(op.getPrevNode()), mlir::cast<Op>(op));
}

// Returns whether the operation is part of a group_mma with the one before it. Contractions by groups are, and the
// zeros that they begin with, which come before all contractions. A contraction that begins with a copy of another's
// sum is not: that sum has to be there before.
bool joins_group(mlir::Operation& op);

// Returns whether the operation is part of a call with the one before it: copies, maxima, scales, outputs and
// contractions by groups are.
bool joins_last(mlir::Operation& op);

// The operations of one call, `first` and those behind it.
template <class Op>
std::vector<Op> row_from(Op first) {
  std::vector<Op> row{first};
  for (mlir::Operation* op = first->getNextNode(); op && joins_last<Op>(*op); op = op->getNextNode())
    row.push_back(mlir::cast<Op>(op));
  return row;
}

}  // namespace wkvc
