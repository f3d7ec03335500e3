// The tile library that emitted kernels include: one warp-level program, two targets with the same names.
// cuda: 32 lanes share each tile, PTX underneath. host: a warp is one fiber that holds whole tiles.
// common/ is written once, on what a target provides for a warp (common/target.h) and for a block (included here).
#pragma once

#include "wkvc/abi.h"
#include "wkvc/common/block/block_max.h"
#include "wkvc/common/block/copy_async.h"
#include "wkvc/common/block/guard.h"
#include "wkvc/common/block/ring.h"
#include "wkvc/common/block/team.h"
#include "wkvc/common/global/global.h"
#include "wkvc/common/global/kept_state.h"
#include "wkvc/common/global/segments.h"
#include "wkvc/common/global/shared_heads.h"
#include "wkvc/common/tile/activations.h"
#include "wkvc/common/tile/column_dots.h"
#include "wkvc/common/tile/decaying.h"
#include "wkvc/common/tile/diagonal_dot.h"
#include "wkvc/common/tile/elementwise.h"
#include "wkvc/common/tile/group_mma.h"
#include "wkvc/common/tile/inverse.h"
#include "wkvc/common/tile/levels.h"
#include "wkvc/common/tile/mma.h"
#include "wkvc/common/tile/partial_sums.h"
#include "wkvc/common/tile/register_tile.h"
#include "wkvc/common/tile/rows.h"
#include "wkvc/common/tile/scaled.h"
#include "wkvc/common/tile/scaled_sum.h"
#include "wkvc/common/tile/shared_tile.h"
#include "wkvc/common/tile/slabs.h"
#include "wkvc/common/tile/strips.h"
#include "wkvc/common/tile/triangular.h"
#include "wkvc/common/token.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/block.h"
#include "wkvc/cuda/kernel.h"
#else
#include "wkvc/host/block.h"
#include "wkvc/host/kernel.h"
#endif
