// The maximum over the warps of a block. `slots` is a shared array of block.warps floats; a block.barrier() belongs
// between publishing and reading, and another one before the slots are published again.
#pragma once

#include "wkvc/common/block_base.h"

namespace wkvc {

WKVC_INLINE void publish_max(float* slots, const BlockBase& block, float value) {
  if (lanes::is_first()) slots[block.warp] = value;
}

WKVC_INLINE float block_max(const float* slots, const BlockBase& block) {
  float largest = 0.f;
  WKVC_UNROLL
  for (int i = 0; i < block.warps; i += 2) {
    float pair[2];
    memory::load_adjacent(slots + i, pair);
    largest = scalar::max(largest, i + 1 < block.warps ? scalar::max(pair[0], pair[1]) : pair[0]);
  }
  return largest;
}

}  // namespace wkvc
