// The rule of shares: what a team's warps make of the states may be one slab for each warp, whose operands a warp
// holds.
#pragma once

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// Returns whether a program's last slabs may be shares: without scales there are registers to spare for one.
bool fits_shares(const Placement& placement);

// Marks operands made of states that shares contract over all values in the last phase, as many as registers hold.
void hold_operands(Placement& placement);

}  // namespace wkvc
