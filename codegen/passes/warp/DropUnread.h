// What warps load or compute and nothing reads.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Erases tiles, numbers and scales that nothing reads: what a chunk may need is known when all of it has been built,
// and other passes make some of it another way.
void drop_unread(warp::KernelOp kernel);

}  // namespace wkvc
