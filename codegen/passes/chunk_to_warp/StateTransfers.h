// How the state that a kernel carries from chunk to chunk comes into the kernel, and where it is stored.
#pragma once

#include "codegen/passes/chunk_to_warp/KernelContext.h"

namespace wkvc {

mlir::Value load_first_state(KernelContext& k);
void store_last_state(KernelContext& k, mlir::Value state);

// States before chunks, for the backward kernel. `state`: as it is outside.
bool saves_states(KernelContext& k);
void save_state(KernelContext& k, mlir::Value state);

// States behind chunks, which are results. `state`: as it is outside.
bool has_intermediate_states(KernelContext& k);
void store_intermediate_state(KernelContext& k, mlir::Value state);

// Keeps a recomputed state for the loop backward; the state after a group's last chunk, which comes first there, stays
// where that loop reads it.
void keep_state(KernelContext& k, mlir::Value state);

}  // namespace wkvc
