// What a target provides for one warp: equal names in cuda/ and host/.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/copy.h"
#include "wkvc/cuda/fragment.h"
#include "wkvc/cuda/invert_block.h"
#include "wkvc/cuda/lanes.h"
#include "wkvc/cuda/layout.h"
#include "wkvc/cuda/memory.h"
#include "wkvc/cuda/mma_block.h"
#include "wkvc/cuda/scalar.h"
#else
#include "wkvc/host/copy.h"
#include "wkvc/host/fragment.h"
#include "wkvc/host/invert_block.h"
#include "wkvc/host/lanes.h"
#include "wkvc/host/layout.h"
#include "wkvc/host/memory.h"
#include "wkvc/host/mma_block.h"
#include "wkvc/host/scalar.h"
#endif
