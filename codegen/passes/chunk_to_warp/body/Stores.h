// What leaves registers: to shared memory, and to global memory.
#pragma once

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// Stores a value's tile x to shared memory, for another owner or a later phase.
void publish_value(const Environment& env, mlir::Value value, mlir::Value x);
// Stores an output's tile x, which is in no unit.
void store_output(const Environment& env, chunk::OutputOp op, mlir::Value x);

}  // namespace wkvc
