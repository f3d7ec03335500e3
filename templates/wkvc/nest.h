// What emitted nests include: roles of warp groups, channels between them, swizzled tiles, and products under way.
#pragma once

#include "wkvc/tile.h"

#include "wkvc/common/nest/blocks.h"
#include "wkvc/common/nest/channel.h"
#include "wkvc/common/nest/decayed_pairs.h"
#include "wkvc/common/nest/plain.h"
#include "wkvc/common/nest/swizzled.h"
#include "wkvc/common/nest/token_vector.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/nest/kernel.h"
#include "wkvc/cuda/nest/products.h"
#include "wkvc/cuda/nest/token_tiles.h"
#else
#include "wkvc/host/nest/kernel.h"
#include "wkvc/host/nest/products.h"
#include "wkvc/host/nest/token_tiles.h"
#endif
