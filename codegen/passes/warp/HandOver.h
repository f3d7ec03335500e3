// Who waits for whom at the slots of a channel.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Adds acquire, put, get and release where one role fills the slots of a channel that another one reads.
void hand_over(warp::KernelOp kernel);

}  // namespace wkvc
