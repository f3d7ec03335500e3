// The rule of value slabs behind teams: C×V values of inputs alone that others than value rows read are made in slabs.
#pragma once

#include "codegen/passes/place/rules/Waits.h"

namespace wkvc {

// Gives such values, and their sums over values, to slabs of value columns, and rows of parameters to everyone.
void make_value_slabs(Placement& placement, const Waits& waits);

}  // namespace wkvc
