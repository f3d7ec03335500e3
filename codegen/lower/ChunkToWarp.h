// chunk → warp: the one-group mapping. All warps of a block go through prologue, core and epilogue of a chunk together,
// phase by phase, with a barrier between phases; inputs of later chunks are copied meanwhile.
#pragma once

#include <string>

#include "codegen/chunk/Chunk.h"
#include "codegen/warp/Warp.h"

namespace wkvc {

// States that a forward kernel saves for a backward one.
struct SavedStates {
  int every = 0;  // chunks between them; 0: none
  std::string dtype = "f32";
};

// Appends the kernel to `kernels`. Throws UserError where the program's buffers exceed its budget (with their map).
void chunk_to_warp(chunk::ProgramOp program, chunk::ProgramOp recompute, llvm::StringRef arch, const SavedStates& saved,
                   mlir::ModuleOp kernels);

}  // namespace wkvc
