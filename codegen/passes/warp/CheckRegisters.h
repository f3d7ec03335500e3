// Whether a kernel's threads have as many registers as its instructions take.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Throws UserError, with the options that would do, for a kernel with fewer registers than an instruction takes: ptxas
// does not compile it.
void check_registers(warp::KernelOp kernel);

}  // namespace wkvc
