// Sums over lanes that meet once.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Dots of columns in registers that the sum of a tile's rows is added to, and nothing else reads: lanes add up both at
// once.
void join_sums(warp::KernelOp kernel);

}  // namespace wkvc
