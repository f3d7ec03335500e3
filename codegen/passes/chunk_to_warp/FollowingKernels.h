// The small kernels that come behind a program's own.
#pragma once

#include <mlir/IR/Builders.h>

#include <string>

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// "NAME_backward" and the suffix.
std::string kernel_name(chunk::ProgramOp program, llvm::StringRef suffix = "");

// Adds what turns a summary into states, and what sums the gradients of parameters and of shared inputs.
void add_following_kernels(chunk::ProgramOp program, mlir::OpBuilder& b);

}  // namespace wkvc
