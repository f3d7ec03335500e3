// How a block combines segments: templates/wkvc/common/global/segments.h.
#pragma once

#include <cstdint>

#include "codegen/chunk/Chunk.h"

namespace wkvc {

// The part of the work that a block has at once. A warp has 16 rows of the state and 16 keys.
struct CombiningBlock {
  int64_t strips = 1;     // of 16 rows of the state
  int64_t map_rows = 16;  // of a full map, a divisor of the keys
  int64_t bytes = 0;      // of shared memory; a diagonal map needs none
};

// Returns the part that a block has of the segments of a summary. Throws UserError where the budget of shared memory is
// too small.
CombiningBlock combining_block(chunk::ProgramOp summary);

}  // namespace wkvc
