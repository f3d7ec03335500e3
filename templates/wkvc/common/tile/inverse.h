// (I - X)^-1 of a strictly lower triangular X.
#pragma once

#include "wkvc/common/tile/triangular.h"

namespace wkvc {

// Block substitution below the diagonal: N_ij = N_ii · Σ_k X_ik·N_kj, over 16x16 blocks whose diagonal is inverted
// exactly. The products of f32 tiles keep f32's accuracy, whatever the compute mode T: the inverse is where repeated
// keys amplify rounding, and it is one matrix a chunk. In the mode f32 row i of the inverse takes nothing but rows up
// to i of X, whatever lies behind them. `scratch`: 192 floats in shared memory for this warp alone.
template <class T, int C>
WKVC_INLINE Tile<f32, C, C> unit_lower_inverse(const Tile<f32, C, C>& x, float* scratch) {
  Tile<f32, C, C> inverse{};
  WKVC_UNROLL
  for (int i = 0; i < C / 16; ++i) {
    inverse.block[i][i] = invert_block<T>(x.block[i][i], scratch);
    WKVC_UNROLL
    for (int j = 0; j < i; ++j) {
      Fragment<f32> sum_t{};
      WKVC_UNROLL
      for (int k = j; k < i; ++k)
        mma_block(sum_t, fragment::transpose(inverse.block[k][j]), fragment::columns(x.block[i][k]));
      if constexpr (is_same<T, f32>)
        mma_block_of_rows<UpToDiagonal>(inverse.block[i][j], inverse.block[i][i], fragment::columns(sum_t));
      else
        mma_block(inverse.block[i][j], inverse.block[i][i], fragment::columns(sum_t));
    }
  }
  return inverse;
}

}  // namespace wkvc
