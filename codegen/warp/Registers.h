// Registers that a kernel's threads have, and those that its instructions take.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc::warp {

// Of each thread, where a multiprocessor holds `blocks` blocks of `warps` warps.
int64_t registers_of_thread(int64_t blocks, int64_t warps);
// The warps that a multiprocessor holds of threads with so many.
int64_t most_warps(int64_t registers);

// With fewer, ptxas can't compile the kernel; what else a thread keeps may go to memory.
int64_t least_registers(KernelOp kernel);

}  // namespace wkvc::warp
