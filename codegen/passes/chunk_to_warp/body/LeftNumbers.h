// The numbers about scales that a team leaves for those who take the state through its chunk.
#pragma once

#include <optional>

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

// Stores a team's numbers: by that warp, or where there are several, when all are there.
void store_numbers(const BuildContext& c, OperandScales& scales);
// Loads what the current phase reads of a team's numbers, with those that the state's rounding takes.
void load_numbers(Environment& env);
// Leaves the scales of operands in the state's scale, for those who read them from shared memory.
void leave_scales(const Environment& env);

}  // namespace wkvc
