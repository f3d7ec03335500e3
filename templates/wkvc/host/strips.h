// One thread holds whole tiles, so there is but one way to.
#pragma once

#include "wkvc/common/shared_tile.h"

namespace wkvc {

using Strips = Blocks;

template <class View>
auto load_strip(const View& x) {
  return load(x);
}

}  // namespace wkvc
