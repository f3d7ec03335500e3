// Contractions, and the sums that accumulate them.
#pragma once

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// Returns a contraction, added to the accumulator if there is one.
mlir::Value contracted(Environment& env, chunk::DotOp op, mlir::Value accumulator);
mlir::Value column_dots(Environment& env, chunk::ColumnDotsOp op);

// Returns the operand of a sum that accumulates on the other one: a contraction that nothing else reads, made in the
// same place and phase. Of two, the second; the first only where the other is there before. Null if there is none.
mlir::Value accumulated(const Site& site, mlir::Operation* sum);

// Returns true where masked pairs are not multiplied. Plain kernels refuse what is not finite; in clusters votes would
// be on the chain of states.
bool is_causal(const BuildContext& c);

}  // namespace wkvc
