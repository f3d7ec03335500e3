// The last decay of a chunk, left to the first one of the next.
#pragma once

#include "codegen/warp/Warp.h"

namespace wkvc {

// Of a kernel without scales whose teams prepare rounds ahead: where a state ends a chunk times a row, and all that
// reads the state of the next chunk begins with a product of it and a row, the state carries the first row on. The
// product of both rows is there before the state is. (The chain of states is what takes time there, and without scales
// there are registers for the row. Backward, teams join the rows: JoinedDecays.h.)
void defer_decays(warp::KernelOp kernel);

}  // namespace wkvc
