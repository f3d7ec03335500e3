// The unit of gradients as part of what gradients are multiplied by last.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// A gradient that goes out times the unit takes it in fewer instructions where it is a product: of a number, which the
// unit takes; in slabs of a power of two, whose exponent's row or number takes that of the unit; or of what several
// gradients are multiplied by, where nothing else is.
void fold_units(warp::KernelOp kernel);

}  // namespace wkvc
