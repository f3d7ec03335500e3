// The kernel of one program: its loops over chunks, and what comes before and after them.
#pragma once

#include <mlir/IR/Builders.h>

#include "codegen/passes/place/memory/KernelMemory.h"

namespace wkvc {

// Adds the kernel of a program. `memory`: of the program, and of the one that recomputes states, if there is one;
// `maps`: rows of the map that a summary of the program carries.
void build_kernel(chunk::ProgramOp program, const KernelMemory& memory, int64_t maps, const Plan& plan,
                  mlir::OpBuilder& b);

}  // namespace wkvc
