// What nothing in a chunk program needs.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

void drop_dead_values(chunk::ProgramOp program);

// Inputs, too: they are not read.
void drop_unused(chunk::ProgramOp program);

}  // namespace wkvc
