// C×C matrices that a backward kernel needs twice, before a state goes through a round again and when that round's turn
// comes: kept by the forward program, as inverses are, so that one warp need not make them while the others wait.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Of the programs of one recurrence, if one without scales recomputes states for teams. They are kept in f16, as that
// program rounds them; those with scales, which may need more than f16 holds, make them again. A matrix is known by the
// name it has in all programs.
void keep_matrices(llvm::ArrayRef<chunk::ProgramOp> programs);

}  // namespace wkvc
