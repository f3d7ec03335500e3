// How slabs share a chunk's columns: blocks of 16, or a strip or a share for each warp.
#pragma once

#include "codegen/passes/place/Placement.h"

namespace wkvc {

// Returns whether each warp of a team has one slab: of what it prepares, in strips, or of what it makes of the states,
// in shares.
bool in_strips(int phase, const Placement& placement);
bool in_shares(int phase, const Placement& placement);

int64_t extent_of(Axis axis, const Placement& placement);  // of keys or values
Axis slab_axis(mlir::Operation* op, const Placement& placement);
int64_t slab_width(int phase, Axis axis, const Placement& placement);  // columns
int64_t slab_count(mlir::Operation* op, const Placement& placement);   // of those in which an operation is made

// Returns whether a contraction over tokens reads the slab's value from registers of the warp that makes it, which
// has a share of the columns for itself.
bool is_transposed(mlir::Value x, mlir::Operation* user, const Placement& placement);

}  // namespace wkvc
