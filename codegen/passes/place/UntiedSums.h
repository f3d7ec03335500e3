// Products of numbers of tokens that sums of one phase have in common. One such product would tie all sums to one warp:
// each group of sums makes the product again, so that several warps may make the sums.
#pragma once

#include "codegen/passes/place/Plan.h"

namespace wkvc {

// Repeats elementwise values of numbers that teams load as they finish chunks, for each group that reads such a value.
void untie_sums(chunk::ProgramOp program, const Plan& plan);

}  // namespace wkvc
