// Roles run against each other, without numbers: who waits for whom, over as many chunks as show it.
#pragma once

#include "codegen/nest/Nest.h"

namespace wkvc::nest {

// Fails, with a message at the operation that is wrong, where roles of a kernel get other chunks than are put, keep
// slots that they got, or wait for each other for ever.
mlir::LogicalResult verify_pipeline(KernelOp kernel);

}  // namespace wkvc::nest
