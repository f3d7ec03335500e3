// The rule of delays: what only later phases read is computed there, so that no registers and no shared memory hold it.
#pragma once

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// Moves slab values to the first phase of the slabs that read them: registers of slabs end with their phase.
void delay_slabs(Placement& placement);

// Moves sums over keys of contractions that later slabs need again to these: else the contractions would be kept in
// shared memory. Returns whether there are such sums.
bool delay_sums(Placement& placement);

// Moves matrices of inputs that are only read with those made of the states beside these: their place in shared memory
// is needed for less long. Those that are kept for what is made of the states stay where teams prepare, in the last
// phase.
void delay_matrices(Placement& placement);

// Moves what numbers of tokens are added up to, behind the states, to the first phase that reads the sum: what is added
// may then be of several warps.
void delay_columns(Placement& placement);

}  // namespace wkvc
