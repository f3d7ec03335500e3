// One thread holds whole tiles, so there is but one way to.
#pragma once

#include "wkvc/common/shared_tile.h"

namespace wkvc {

using Strips = Blocks;

template <class T, int R, int C, int LD>
Tile<T, R, C> load_strip(const Shared<T, R, C, LD>& x) {
  return load(x);
}

}  // namespace wkvc
