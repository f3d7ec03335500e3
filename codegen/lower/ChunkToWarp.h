// chunk → warp. With one team all warps of a block go through prologue, core and epilogue of a chunk together, phase by
// phase, with a barrier between phases; inputs of later chunks are copied meanwhile. With several, each team of warps
// goes through the prologue of a chunk of its own; then all warps take the state through these chunks without barriers,
// or others than the teams' do, while these prepare the next ones.
#pragma once

#include "codegen/chunk/Chunk.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// Of a program's kernel: one for each 16 rows of the state and of the map behind it.
int row_warps_of(chunk::ProgramOp program);

// Appends the kernel to `kernels`, and those that sum its gradients of parameters or combine its summaries. `recompute`
// brings states on from those that are saved; null: all are. `maps`: rows of the map in summaries of segments. `blocks`
// is how many blocks of the kernel a multiprocessor is to hold at once, which bounds the registers of each; 0: a guess.
// With 2 `rounds` teams are of warps of their own, and prepare one of them ahead. Throws UserError where the program's
// buffers exceed its budget (with their map), or those of so many blocks what there is, and for several `teams` of a
// program whose prologue is not all that they would do, or where they don't divide its warps.
void chunk_to_warp(chunk::ProgramOp program, chunk::ProgramOp recompute, int64_t maps, llvm::StringRef arch, int blocks,
                   int teams, int rounds, mlir::ModuleOp kernels);

}  // namespace wkvc
