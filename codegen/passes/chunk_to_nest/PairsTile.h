// Products of pairs of tokens as tiles of a role.
#pragma once

#include "codegen/passes/chunk_to_nest/Pairs.h"
#include "codegen/passes/chunk_to_nest/RoleBuilder.h"

namespace wkvc {

// Adds to the rows what products of pairs of tokens need of them.
void add_rows_of_pairs(NestContext& context);

// Returns products of pairs of tokens by wgmma from shared memory, times decays and numbers. Of strict ones what lies
// on and above the diagonal is undefined.
mlir::Value pairs_tile(RoleBuilder& role, const Pairs& pairs, double times);

}  // namespace wkvc
