// Whether a program's slabs may be as wide as a warp's share of a chunk, in strips (templates/wkvc/cuda/strips.h).
#pragma once

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// What teams of so many warps make before the states come; what they make after is in blocks.
bool fits_strips(chunk::ProgramOp program, const Placement& placement, int warps);

}  // namespace wkvc
