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

// One number a token, beside an R x C tile in strips.
template <class T, int R, int C>
WKVC_INLINE ColumnOf<Strips, R, C> load_tokens_strip(const TensorArg& t, const BlockBase& block, long long token0,
                                                     int valid) {
  return load_token_vector<T, typename Strips::template Rows<C>, R>(t, block, token0, valid);
}

}  // namespace wkvc
