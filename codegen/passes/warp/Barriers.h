// Where the warps of a role meet.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Puts a barrier where a phase begins that warps can't begin before others have done with what precedes. The other
// phases are erased.
void place_barriers(warp::KernelOp kernel);

}  // namespace wkvc
