// Slices a chunk program by dependence on the state: prologue (independent of it), core (the serial chain from the
// state before the chunk to the state after it), epilogue (depends on the core, feeds nothing back).
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Sets the attribute `slice` of every operation. Mappings onto warps read it.
void slice(chunk::ProgramOp program);

}  // namespace wkvc
