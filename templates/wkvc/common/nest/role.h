// A warp's place in a role of a block: which copy of the role, and which warp of the copy.
#pragma once

#include "wkvc/common/target.h"

namespace wkvc {

// The same number, at most 127, of which the compiler does not know more: what follows from it is made again in each
// chunk, and takes no registers meanwhile.
WKVC_INLINE int made_again(int x) { return memory::kept(x) & 127; }

struct Role {
  int copy, warp;

  // The first of this warp's 16 rows of a copy's tile, and of a matrix whose rows are dealt to the copies.
  WKVC_INLINE int row0() const { return made_again(16 * warp); }
  WKVC_INLINE int row0_of_all() const { return 64 * copy + 16 * warp; }
};

// Returns the role of a warp of the block, whose warps `first` … belong to copies of `warps` warps.
WKVC_INLINE Role role_of(int warp, int first, int warps) { return {(warp - first) / warps, (warp - first) % warps}; }

}  // namespace wkvc
