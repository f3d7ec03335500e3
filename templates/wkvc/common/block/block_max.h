// The maximum over the warps of a block. `slots` is a shared array of block.warps floats; a block.barrier() belongs
// between publishing and reading, and another one before the slots are published again.
#pragma once

#include "wkvc/common/block/block_base.h"

namespace wkvc {

// A tile whose largest |x| belongs into `slots`.
template <class X>
struct Maximum {
  X tile;
  float* slots;
};

template <class X>
WKVC_INLINE Maximum<X> maximum(const X& tile, float* slots) {
  return {tile, slots};
}

// All are found before any is written, so that they do not wait for each other.
template <class... X>
WKVC_INLINE void publish_maxima(const BlockBase& block, const Maximum<X>&... x) {
  const float largest[] = {max_abs(x.tile)...};
  float* const slots[] = {x.slots...};
  if (!lanes::is_first()) return;
  WKVC_FOR(i, static_cast<int>(sizeof...(X)), slots[i][block.warp] = largest[i]);
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
