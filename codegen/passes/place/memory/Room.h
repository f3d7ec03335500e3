// The room that a kernel's shared memory has, and the blocks that a multiprocessor holds.
#pragma once

#include "codegen/passes/place/memory/KernelMemory.h"

namespace wkvc {

// Returns the bytes that a block takes: its buffers, and the words of a guard where warps that do not meet are told to
// leave rounds out, or blocks of a cluster to refuse.
int64_t block_bytes(chunk::ProgramOp program, const KernelMemory& memory, const Plan& plan);

// Returns the blocks that a multiprocessor holds: by shared memory, and by a guess of registers that leaves the state
// room, and in the backward pass a second one.
int64_t blocks_per_sm(chunk::ProgramOp program, int warps, int64_t shared);

// Returns as many blocks as were asked for. What a plain kernel refuses, which may have more to keep, makes do with
// those that there is room for. Throws UserError where more were asked for.
int64_t checked_blocks(chunk::ProgramOp program, int warps, int64_t blocks, int64_t shared);

// Throws UserError, with a map of the buffers, where they exceed the program's budget.
void check_budget(chunk::ProgramOp program, const KernelMemory& memory, const Plan& plan);

}  // namespace wkvc
