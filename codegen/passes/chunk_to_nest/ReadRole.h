// The role that goes ahead of all others: copies inputs, computes numbers of tokens and products of queries with keys.
#pragma once

#include "codegen/passes/chunk_to_nest/NestContext.h"

namespace wkvc {

void build_read_role(NestContext& context, int64_t registers);

}  // namespace wkvc
