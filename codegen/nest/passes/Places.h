// Where channels and scratch lie in shared memory.
#pragma once

#include "codegen/nest/Nest.h"

namespace wkvc::nest {

// Gives each channel the offsets of its slots and mbarriers, and each substitution that of its scratch. Returns the
// bytes of shared memory that they take; throws UserError where the kernel has fewer.
int64_t place_channels(KernelOp kernel);

}  // namespace wkvc::nest
