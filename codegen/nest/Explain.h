// A nest in words.
#pragma once

#include <string>

#include "codegen/nest/Nest.h"

namespace wkvc::nest {

// Returns lines for people: the channels of a kernel with their two ends, and each role's warps, registers, and what
// the role copies, gets, computes by instructions of warp groups, puts and stores, in this order.
std::string explain(KernelOp kernel);

}  // namespace wkvc::nest
