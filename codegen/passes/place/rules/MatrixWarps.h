// The rule of matrices: those that are made of each other go to one warp, those that cost most first, each to the warp
// that has least to do in their phase.
#pragma once

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// Sets the warps of all matrices. Owners and phases are there.
void assign_warps(Placement& placement);

}  // namespace wkvc
