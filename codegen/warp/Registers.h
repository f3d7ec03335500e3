// Registers that a kernel's instructions take.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc::warp {

// With fewer, ptxas can't compile the kernel; what else a thread keeps may go to memory.
int64_t least_registers(KernelOp kernel);

}  // namespace wkvc::warp
