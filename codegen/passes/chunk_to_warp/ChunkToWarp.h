// chunk → warp. With one team all warps of a block go through prologue, core and epilogue of a chunk together, phase by
// phase, with a barrier between phases; inputs of later chunks are copied meanwhile. With several, each team of warps
// goes through the prologue of a chunk of its own; then all warps take the state through these chunks without barriers,
// or others than the teams' do, while these prepare the next ones. What costs less in another way is exchanged by
// passes over the kernel (codegen/passes/warp/).
#pragma once

#include "codegen/chunk/Chunk.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// Appends the kernel to `kernels`, and those that sum its gradients of parameters or combine its summaries. `recompute`
// brings states on from those that are saved; null: all are. `maps`: rows of the map in summaries of segments. Both
// programs are placed (codegen/passes/place/PlaceKernel.h).
void chunk_to_warp(chunk::ProgramOp program, chunk::ProgramOp recompute, int64_t maps, mlir::ModuleOp kernels);

}  // namespace wkvc
