// Where the scales of rounded operands come from: inputs, states, or the operand itself.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Whether an f16 operand's scale comes from maxima of inputs or states, or from its own.
bool has_bound(chunk::RoundOp round);
bool has_own_scale(chunk::RoundOp round);

// Where other warps read the operand, the scale is that of all rows of the state: known when all warps have theirs, one
// barrier later than those of inputs. Else each warp takes its own rows', of `state_of_scale`. An operand that is made
// of a state by products with rows and columns alone is a `rounded_state`, which either is of.
bool takes_scale_of_state(chunk::RoundOp round);
mlir::Value state_of_scale(chunk::RoundOp round);
mlir::Value rounded_state(chunk::RoundOp round);
mlir::Value bounding_state(chunk::RoundOp round);  // null if there is none
bool is_bounded_by(chunk::RoundOp round, mlir::Operation* state);

// Whether a state may carry a scale from chunk to chunk: it is multiplied by rows, contractions are added to it, and it
// is rounded. Each warp has a scale of its own rows if every rounding has one of its `state_of_scale`.
bool can_carry_scale(mlir::Operation* state);

}  // namespace wkvc
