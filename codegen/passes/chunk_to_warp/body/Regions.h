// The operations of one phase, by their owners: slabs of columns, matrices of one warp, value rows.
#pragma once

#include "codegen/passes/chunk_to_warp/body/Environment.h"

namespace wkvc {

void build_slabs(Environment& env);
void build_matrices(Environment& env);
void build_rows(Environment& env, const std::vector<mlir::Operation*>& ops);

// Begins the warp's share: its columns, and operands that are held from here on: what states leave is there when these
// have gone through the round.
void begin_share(Environment& env);

// Returns the first column of a slab, for operations that are built next.
mlir::Value begin_slab(const BuildContext& c, warp::SlabsOp loop);

}  // namespace wkvc
