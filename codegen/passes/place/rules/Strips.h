// Whether a program's slabs may be as wide as a warp's share of a chunk, in strips (templates/wkvc/cuda/strips.h).
#pragma once

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// Of slabs that teams make before the states come.
bool fits_strips(const Placement& placement);

}  // namespace wkvc
