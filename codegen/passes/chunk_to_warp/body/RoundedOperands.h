// Roundings of operands, and the scales of states that they take.
#pragma once

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// Returns x without a scale.
mlir::Value rounded(const BuildContext& c, mlir::Value x, mlir::Type element);
// Returns the result of a rounding.
mlir::Value rounded_operand(Environment& env, chunk::RoundOp op);
// Returns an operand in the scale in which the state takes it; null if the state takes it as it is.
mlir::Value brought_operand(Environment& env, mlir::Value operand);
// Returns an operand in f32.
mlir::Value widened_operand(Environment& env, mlir::Value operand);

// Creates scales of this warp's rows of a state, while the registers of the chunk's values are still free.
void create_own_scales(Environment& env);

}  // namespace wkvc
