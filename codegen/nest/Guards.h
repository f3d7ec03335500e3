// Guarded kernels: each number that is rounded to f16 is seen, by itself or in what comes of the number.
#pragma once

#include "codegen/nest/Nest.h"

namespace wkvc::nest {

// Returns the tensor in which a kernel says which heads it refuses; empty where it has none.
llvm::StringRef refusals_of(KernelOp kernel);

// Fails, with a message at the operation, where a guarded kernel rounds what no guard sees, stores what no guard has
// seen, or has a guard that nothing rounded comes to; and where a kernel is guarded by half.
mlir::LogicalResult verify_guards(KernelOp kernel);

}  // namespace wkvc::nest
