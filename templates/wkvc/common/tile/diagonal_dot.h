// The diagonal matrix of x_t·y_t, token by token, in f32.
#pragma once

#include "wkvc/common/tile/rows.h"
#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

template <class Xs, class Ys>
WKVC_INLINE Tile<f32, Xs::kRows, Xs::kRows> diagonal_dot(const Xs& xs, const Ys& ys) {
  ColVec<Xs::kRows> sum{};
  WKVC_FOR(
      j, Xs::kColumns / 16,
      sum = sum + sum_columns(widen(load(xs.template cols<16>(16 * j))) * widen(load(ys.template cols<16>(16 * j)))));
  Tile<f32, Xs::kRows, Xs::kRows> ones = zeros<Xs::kRows, Xs::kRows>();
  return diagonal(ones + sum);
}

}  // namespace wkvc
