// The loops of one team over the chunks of a sequence: all chunks in order, or groups of them from the last, each
// recomputed forward and then run backward.
#pragma once

#include "codegen/passes/chunk_to_warp/KernelContext.h"

namespace wkvc {

// Returns the state behind all chunks.
mlir::Value through_chunks(KernelContext& k, mlir::Value initial);
mlir::Value through_groups(KernelContext& k, mlir::Value initial);

}  // namespace wkvc
