// chunk → nest: a program's chunks by roles of warp groups. The state, and all that depends on it, belongs to the role
// "state", whose copies hold the state's rows in sums of wgmma, values × keys: there tiles of tokens × values lie
// transposed. Numbers of tokens, and products of keys with keys, belong to helpers that go ahead.
#pragma once

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// Adds the kernel of a plain forward program to `kernels`. Throws UserError for a program that this form does not take,
// and says what the form takes.
void chunk_to_nest(chunk::ProgramOp program, mlir::ModuleOp kernels);

}  // namespace wkvc
