// One thread holds whole tiles, so there is but one way to.
#pragma once

#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

using Strips = Blocks;

template <class View>
auto load_strip(const View& x) {
  return load(x);
}

template <int R, int C>
Tile<f32, R, C> shift_rows(const Tile<f32, R, C>& x, const RowVec<C>& first) {
  Tile<f32, R, C> y;
  for (int row = 0; row < R; ++row) {
    for (int column = 0; column < C; ++column) {
      const int above = row - 1, j = column / 16;
      y.block[row / 16][j].unit[row % 16 * 16 + column % 16] =
          row == 0 ? first.v[j][column % 16] : x.block[above / 16][j].unit[above % 16 * 16 + column % 16];
    }
  }
  return y;
}

}  // namespace wkvc
