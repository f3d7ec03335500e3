// Summaries of segments: what they begin with, and how they are combined.
#include "wkvc/tile.h"

using namespace wkvc;

#define START(kind, V, K)                                                            \
  WKVC_KERNEL(start_##kind##_##V##_##K, 1, ((V) + kMapRows<Map::kind, K>) / 16, 1) { \
    const int row0 = 16 * block.warp;                                                \
    store_state(start_summary<Map::kind, V, K>(row0), args.tensor[0], block, row0);  \
  }
START(full, 32, 48)
START(diagonal, 32, 48)

#define COMBINE(kind, V, K, rows, strips, backward)                                            \
  WKVC_KERNEL(combine_##kind##_##V##_##K##_##strips##_##backward, 2, (strips) * (K) / 16, 1) { \
    combine_segments<Map::kind, V, K, rows, backward>(args.tensor[1], args.tensor[0], block);  \
  }
COMBINE(full, 32, 48, 16, 1, false)
COMBINE(full, 32, 48, 16, 1, true)
COMBINE(full, 64, 64, 32, 1, false)
COMBINE(full, 64, 64, 64, 2, false)
COMBINE(full, 96, 32, 32, 3, true)
COMBINE(full, 32, 128, 64, 2, false)
COMBINE(full, 16, 256, 32, 1, true)
COMBINE(diagonal, 32, 48, 16, 1, false)
COMBINE(diagonal, 32, 48, 16, 1, true)
COMBINE(diagonal, 64, 32, 16, 2, true)
