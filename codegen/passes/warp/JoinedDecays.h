// Behind teams, the last decay of a chunk and the first of the next as one row.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Of a kernel without scales: where each chunk of a round multiplies a state by a row as it begins and by another as it
// ends, teams join the last row of a chunk and the first row of the next, once both are there, for which all warps meet
// once more. Each state then takes one product where it took two, forward and backward (codegen/target/Target.h: how
// much faster that is).
void join_decays(warp::KernelOp kernel);

}  // namespace wkvc
