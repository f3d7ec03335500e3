// The pass `place`: where and when each value of a kernel's programs is computed and kept, written to the programs.
#pragma once

#include "codegen/chunk/Chunk.h"
#include "codegen/passes/place/Placement.h"
#include "codegen/passes/place/Plan.h"
#include "codegen/passes/place/memory/MemoryChoices.h"

namespace wkvc {

// Gives every operation of a kernel's programs its place, and settles what the program's schedule leaves open: blocks
// and memory, and the teams of a summary. `recompute` brings states on from those that are saved; null: all are. Throws
// UserError where the program can't have its schedule: see plan(), and where the buffers exceed the program's budget
// (with their map) or those of all blocks of a multiprocessor what there is.
void place_kernel(chunk::ProgramOp program, chunk::ProgramOp recompute);

// Returns whether one team may copy a saved state ahead: into a buffer that a later phase has read.
bool may_copy_states(const Placement& main, const Plan& plan);

// Returns what a kernel may keep and prefetch. `fits_states`: there is room for a state that is copied ahead.
MemoryChoices memory_choices(const Placement& main, chunk::ProgramOp recompute, const Plan& plan, bool fits_states);

}  // namespace wkvc
