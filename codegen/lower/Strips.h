// Whether a program's slabs may be as wide as a warp's share of a chunk, in strips (templates/wkvc/cuda/strips.h).
#pragma once

#include "codegen/lower/Placement.h"

namespace wkvc {

// Columns of a slab where `warps` share a chunk: their share, or 16, in blocks.
int64_t slab_width(chunk::ProgramOp program, const Placement& placement, int warps);

}  // namespace wkvc
