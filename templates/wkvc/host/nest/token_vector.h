// One number for each token of a chunk.
#pragma once

#include "wkvc/common/tile/register_tile.h"

namespace wkvc {

struct PerLane {
  template <int N>
  static constexpr int kBlocks = N / 64;
  static constexpr int kSlots = 64;
  template <int N>
  static int position(int i, int slot) {
    return 64 * i + slot;
  }
};

inline Vector<PerLane, 64> cumsum(const Vector<PerLane, 64>& x) {
  Vector<PerLane, 64> sums = x;
  for (int n = 1; n < 64; ++n) sums.v[0][n] += sums.v[0][n - 1];
  return sums;
}

// The number of token I.
template <int I>
float row(const Vector<PerLane, 64>& x) {
  return x.v[0][I];
}

}  // namespace wkvc
