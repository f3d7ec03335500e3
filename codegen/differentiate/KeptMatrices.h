// C×C matrices that a forward program keeps for its backward program: which of them, under which names, in which dtype.
// Inverses are serial chains; of other matrices one warp would make twice what all others wait for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Returns the inverses that a program which is to be differentiated keeps, by the names they are kept under; none where
// its schedule of gradients has matrices made again.
std::vector<std::pair<std::string, mlir::Value>> kept_inverses(chunk::ProgramOp forward);

// Returns the dtype that such a program keeps inverses in, f32 or lower_f16x2.
llvm::StringRef kept_dtype(chunk::ProgramOp forward);

// Reads a matrix that is kept under a name, in place of computing it.
void read_kept(mlir::Value matrix, llvm::StringRef name, llvm::StringRef dtype);

// Keeps what a backward kernel needs twice, before a state goes through a round again and when that round's turn comes:
// of the programs of one recurrence, if one without scales recomputes states for teams. They are kept in f16, as that
// program rounds them; those with scales, which may need more than f16 holds, make them again. A matrix is known by the
// name it has in all programs. Throws UserError where a program keeps what its schedule has made again.
void keep_matrices(llvm::ArrayRef<chunk::ProgramOp> programs);

}  // namespace wkvc
