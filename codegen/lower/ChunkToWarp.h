// chunk → warp: the one-group mapping. All warps of a block go through prologue, core and epilogue of a chunk together,
// phase by phase, with a barrier between phases; inputs of later chunks are copied meanwhile.
#pragma once

#include "codegen/chunk/Chunk.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// Appends the kernel to `kernels`, and those that sum its gradients of parameters or combine its summaries. `recompute`
// brings states on from those that are saved; null: all are. `maps`: rows of the map in summaries of segments. `blocks`
// is how many blocks of the kernel a multiprocessor is to hold at once, which bounds the registers of each; 0: a guess.
// Throws UserError where the program's buffers exceed its budget (with their map), or those of so many blocks what
// there is.
void chunk_to_warp(chunk::ProgramOp program, chunk::ProgramOp recompute, int64_t maps, llvm::StringRef arch, int blocks,
                   mlir::ModuleOp kernels);

}  // namespace wkvc
