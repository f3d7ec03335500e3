// (I + L)^-1 of a strictly lower triangular L by blocks of 16 rows and columns: first the blocks on the diagonal, a
// warp each, then what lies below them, a column of blocks a warp.
#pragma once

#include "wkvc/common/nest/swizzled.h"
#include "wkvc/common/tile/mma.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/nest/invert_transposed.h"
#else
#include "wkvc/host/nest/invert_transposed.h"
#endif

namespace wkvc {

// Returns the inverse of I and this warp's block on the diagonal, transposed. `scratch`: kInvertFloats floats in shared
// memory for each warp of the role.
template <int C>
WKVC_INLINE Tile<f16, 16, 16> invert_diagonal(const Role& role, const Tile<f32, 16, C>& L, float* scratch) {
  const int warp = made_again(role.warp);
  Fragment<f32> diagonal = L.block[0][0];
  WKVC_FOR(j, C / 16, j == warp ? void(diagonal = L.block[0][j]) : void());
  return {{{invert_transposed(diagonal, scratch + kInvertFloats * warp)}}};
}

// Makes block I of this warp's column of the inverse, transposed, where blocks up to I - 1 are there: -inverse of block
// (I, I) · Σ_k L_Ik · block k.
template <int I, int C, class Lower, class Inverses>
WKVC_INLINE void add_block(const Role& role, Tile<f16, 16, C>& column_t, const Lower& L, const Inverses& inverses_t) {
  const int row0 = made_again(16 * I);
  Tile<f32, 16, 16> sum{}, product{};
  const auto add = [&](int k) WKVC_INLINE_LAMBDA {
    const auto block = fragment::load_columns_at<f16>(pieces_from(L, row0, 16 * k));
    mma_block(sum.block[0][0], column_t.block[0][k], block);
  };
  WKVC_FOR(k, I, k >= role.warp ? add(k) : void());
  const auto inverse = fragment::load_columns_transposed_at<f16>(pieces_from(inverses_t, row0, 0));
  mma_block(product.block[0][0], round<f16>(-sum).block[0][0], inverse);
  column_t.block[0][I] = round<f16>(product).block[0][0];
}

// Returns this warp's 16 columns of the inverse, as rows, from L and what all warps made by invert_diagonal.
template <class Lower, class Inverses>
WKVC_INLINE Tile<f16, 16, 64> inverse_columns(const Role& role, const Lower& L, const Inverses& inverses_t) {
  static_assert(Lower::kRows == 64 && Lower::kColumns == 64, "a warp has one of four columns of blocks");
  Tile<f16, 16, 64> column_t{};
  WKVC_FOR(i, 4,
           i == role.warp ? void(column_t.block[0][i] = fragment::load_at<f16>(pieces_from(inverses_t, role.row0(), 0)))
                          : void());
  if (role.warp < 1) add_block<1>(role, column_t, L, inverses_t);
  if (role.warp < 2) add_block<2>(role, column_t, L, inverses_t);
  if (role.warp < 3) add_block<3>(role, column_t, L, inverses_t);
  return column_t;
}

}  // namespace wkvc
