// Dead values of a chunk program, and inputs that nothing needs: they are not read.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

void drop_unused(chunk::ProgramOp program);

}  // namespace wkvc
