// chunk → warp. With one team all warps of a block go through prologue, core and epilogue of a chunk together, phase by
// phase, with a barrier between phases; inputs of later chunks are copied meanwhile. With several, each team of warps
// goes through the prologue of a chunk of its own; then all warps take the state through these chunks without barriers,
// or others than the teams' do, while these prepare the next ones.
#pragma once

#include "codegen/chunk/Chunk.h"
#include "codegen/lower/Crew.h"
#include "codegen/lower/TensorList.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// Of a program's kernel. With 2 `rounds` teams are of warps of their own, and prepare one of them ahead; then there may
// be a `cluster` of blocks for each head.
Crew crew_of(chunk::ProgramOp program, int teams, int rounds = 1, int cluster = 1);
int row_warps_of(chunk::ProgramOp program);  // of all blocks of a head
bool is_possible(const Crew& crew);  // rows for each warp, as many warps as a block may have, teams of equal size

// Appends the kernel to `kernels`, and those that sum its gradients of parameters or combine its summaries. `recompute`
// brings states on from those that are saved; null: all are. `maps`: rows of the map in summaries of segments. `blocks`
// is how many blocks of the kernel a multiprocessor is to hold at once, which bounds the registers of each; 0: a guess.
// Throws UserError where the program's buffers exceed its budget (with their map), or those of so many blocks what
// there is, for a crew that is not possible, and for one of several teams of a program whose prologue is not all that
// they would do.
void chunk_to_warp(chunk::ProgramOp program, chunk::ProgramOp recompute, int64_t maps, llvm::StringRef arch, int blocks,
                   const Crew& crew, const StoredStates& states, mlir::ModuleOp kernels);

}  // namespace wkvc
