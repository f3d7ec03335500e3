// The role that takes the state through the chunks: all of a program that has value rows.
#pragma once

#include "codegen/passes/chunk_to_nest/RoleBuilder.h"

namespace wkvc {

// Adds the role, whose copies have 64 value rows each. Channels that the role reads are made on the way.
void build_state_role(NestContext& context, int64_t registers);

// Calls f(number) for each number of tokens that the role multiplies by.
void for_each_row(const NestContext& context, llvm::function_ref<void(mlir::Value)> f);

}  // namespace wkvc
