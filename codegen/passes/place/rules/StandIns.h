// The rule of stand-ins: behind teams an input that was rounded to f16 is read from the rounded operand, which lies in
// shared memory anyway.
#pragma once

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// Marks the operands that stand in for inputs. What crosses of rounded operands is shared already.
void find_stand_ins(Placement& placement);

}  // namespace wkvc
