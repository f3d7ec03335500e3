// Roles that go ahead of the state: one copies inputs, computes numbers of tokens and products of queries with keys;
// where rows of a chunk depend on each other, another one inverts products of keys with keys.
#pragma once

#include "codegen/passes/chunk_to_nest/RoleBuilder.h"

namespace wkvc {

// Adds to the rows what products of pairs of tokens need of them.
void add_rows_of_pairs(NestContext& context);

void build_read_role(NestContext& context, int64_t registers);
void build_write_role(NestContext& context, int64_t registers);

// Returns the operand that is an inverse; null where the program has none.
mlir::Value inverse_of(chunk::ProgramOp program);

}  // namespace wkvc
