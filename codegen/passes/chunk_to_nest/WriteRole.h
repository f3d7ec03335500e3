// The role that inverts products of keys with keys, where tokens of a chunk depend on each other.
#pragma once

#include "codegen/passes/chunk_to_nest/NestContext.h"

namespace wkvc {

void build_write_role(NestContext& context, int64_t registers);

// Returns the operand that is an inverse; null where the program has none.
mlir::Value inverse_of(chunk::ProgramOp program);

}  // namespace wkvc
