// Operands of strips that take their scale where their inputs are widened.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// In strips: an operand that is rounded with a scale, and made of an input times something, is made of the input over
// the scale, and rounded without. Two elements of 16 bits are scaled by one instruction as they are widened.
void scale_inputs(warp::KernelOp kernel);

}  // namespace wkvc
