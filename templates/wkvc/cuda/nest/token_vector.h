// How the lanes of a warp share one number for each token of a chunk: two neighbours a lane.
#pragma once

#include "wkvc/common/tile/register_tile.h"

namespace wkvc {

struct PerLane {
  template <int N>
  static constexpr int kBlocks = N / 64;
  static constexpr int kSlots = 2;
  template <int N>
  static WKVC_INLINE int position(int i, int slot) {
    return 64 * i + 2 * ptx::lane() + slot;
  }
};

namespace tokens {

// Adds what lanes before this one have.
template <int Step>
WKVC_INLINE float added_from(float x) {
  const float y = ptx::shuffle_up(x, Step);
  return ptx::lane() >= Step ? x + y : x;
}

}  // namespace tokens

WKVC_INLINE Vector<PerLane, 64> cumsum(const Vector<PerLane, 64>& x) {
  using tokens::added_from;
  const float own = x.v[0][0] + x.v[0][1];
  const float sum = added_from<16>(added_from<8>(added_from<4>(added_from<2>(added_from<1>(own)))));
  const float above = ptx::shuffle_up(sum, 1), before = ptx::lane() == 0 ? 0.f : above;
  return {{{before + x.v[0][0], sum}}};
}

// The number of token I.
template <int I>
WKVC_INLINE float row(const Vector<PerLane, 64>& x) {
  return ptx::shuffle(x.v[0][I % 2], I / 2);
}

}  // namespace wkvc
