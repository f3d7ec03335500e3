// The tile library that emitted kernels include: one warp-level program, two targets with the same names.
// cuda: 32 lanes share each tile, PTX underneath. host: a warp is one thread that holds whole tiles.
// common/ is written once, on what a target provides for a warp (common/target.h) and for a block (included here).
#pragma once

#include "wkvc/abi.h"
#include "wkvc/common/activations.h"
#include "wkvc/common/block_max.h"
#include "wkvc/common/column_dots.h"
#include "wkvc/common/copy_async.h"
#include "wkvc/common/decaying.h"
#include "wkvc/common/diagonal_dot.h"
#include "wkvc/common/elementwise.h"
#include "wkvc/common/global.h"
#include "wkvc/common/group_mma.h"
#include "wkvc/common/guard.h"
#include "wkvc/common/inverse.h"
#include "wkvc/common/levels.h"
#include "wkvc/common/mma.h"
#include "wkvc/common/partial_sums.h"
#include "wkvc/common/register_tile.h"
#include "wkvc/common/ring.h"
#include "wkvc/common/rows.h"
#include "wkvc/common/scaled.h"
#include "wkvc/common/scaled_sum.h"
#include "wkvc/common/segments.h"
#include "wkvc/common/shared_heads.h"
#include "wkvc/common/shared_tile.h"
#include "wkvc/common/slabs.h"
#include "wkvc/common/strips.h"
#include "wkvc/common/team.h"
#include "wkvc/common/token.h"
#include "wkvc/common/triangular.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/block.h"
#include "wkvc/cuda/kernel.h"
#else
#include "wkvc/host/block.h"
#include "wkvc/host/kernel.h"
#endif
