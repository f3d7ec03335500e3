// chunk → warp: the one-group mapping. All warps of a block go through prologue, core and epilogue of a chunk together,
// phase by phase, with a barrier between phases; inputs of later chunks are copied meanwhile.
#pragma once

#include <mlir/IR/OwningOpRef.h>

#include "codegen/chunk/Chunk.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// Appends the kernel to `kernels`. Throws UserError where the program's buffers exceed its budget (with their map).
void chunk_to_warp(chunk::ProgramOp program, llvm::StringRef arch, mlir::ModuleOp kernels);

}  // namespace wkvc
