// Which values of a kernel are variables of its text, and what these are called.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc::warp {

// Returns whether the text has the operation where its only reader is, instead of a variable.
bool is_inlined(mlir::Operation* op);

// Returns whether `op` may add to the variable of its accumulator, which may be a loop's state: nothing reads that
// afterwards.
bool accumulates_in_place(MmaOp op);

// Returns whether operations behind the value's own change its variable.
bool is_accumulator(mlir::Value value);

// Names all variables that have no name: sums as what they come to, other values after their operations and operands.
void name_variables(KernelOp kernel);

}  // namespace wkvc::warp
