// Which nests can be emitted as kernels.
#pragma once

#include "codegen/nest/Nest.h"

namespace wkvc::nest {

// Fails, with a message at the operation, where a kernel for a recurrence has something that cannot be emitted yet.
mlir::LogicalResult verify_printable(KernelOp kernel);

}  // namespace wkvc::nest
