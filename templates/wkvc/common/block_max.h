// The maximum over the warps of a block. `slots` is a shared array of block.warps floats; a block.barrier() belongs
// between publishing and reading, and another one before the slots are published again.
#pragma once

#include "wkvc/common/block_base.h"

namespace wkvc {

WKVC_INLINE void publish_max(float* slots, const BlockBase& block, float value) {
  if (lanes::is_first()) slots[block.warp] = value;
}

WKVC_INLINE float block_max(const float* slots, const BlockBase& block) {
  float largest = slots[0];
  for (int i = 1; i < block.warps; ++i) largest = scalar::max(largest, slots[i]);
  return largest;
}

}  // namespace wkvc
