// Tiles in strips: sums over their rows are mostly a lane's own. They are made, computed with elementwise and stored as
// others are, but are no operands of contractions.
#pragma once

#include "wkvc/common/global/global.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/strips.h"
#else
#include "wkvc/host/strips.h"
#endif

namespace wkvc {

// Beside a tile in strips.
template <class T, int C>
WKVC_INLINE RowOf<Strips, C> load_parameter_strip(const TensorArg& t, const BlockBase& block, int col0) {
  return load_parameter<T, Vector<Strips::Columns, C>>(t, block, col0);
}

}  // namespace wkvc
