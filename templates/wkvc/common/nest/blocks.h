// Square tiles of 64 rows by 16x16 blocks: each of four warps has a row of blocks, whose number is that of the block on
// the diagonal. Blocks of 2 n rows on the diagonal have a level n: their lower left quarters.
#pragma once

#include "wkvc/common/nest/swizzled.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/nest/substitution.h"
#else
#include "wkvc/host/nest/substitution.h"
#endif

namespace wkvc {

// Makes the inverse of I and what this warp's block on the diagonal has below its diagonal, and, where this warp has a
// block of level 16, the inverse times that block. `scratch`: kSubstitutionFloats floats in shared memory for each warp
// of the role.
WKVC_INLINE void solve_diagonal(const Role& role, const Tile<f32, 16, 64>& L, float* scratch,
                                Tile<f16, 16, 16>& inverse, Tile<f16, 16, 16>& left) {
  const int warp = made_again(role.warp);
  Fragment<f32> on_diagonal = L.block[0][0];
  WKVC_FOR(j, 4, j == warp ? void(on_diagonal = L.block[0][j]) : void());
  const Fragment<f32> beside = warp < 2 ? L.block[0][0] : L.block[0][2];
  substitute(on_diagonal, beside, scratch + kSubstitutionFloats * warp, inverse.block[0][0], left.block[0][0]);
}

// Returns this warp's block with a number, or the numbers of its rows, on the diagonal.
WKVC_INLINE Tile<f32, 16, 16> diagonal(const ColVec<16>& rows) {
  const int row0 = made_again(0);
  Tile<f32, 16, 16> y;
  WKVC_EACH_ELEMENT(16, 16,
                    y.block[i][j].unit[e] = row0 + row_of(i, e) == column_of(j, e) ? rows.v[i][PerRow::slot(e)] : 0.f);
  return y;
}
WKVC_INLINE Tile<f32, 16, 16> diagonal(float x) {
  ColVec<16> rows;
  WKVC_EACH_SLOT(PerRow, 16, rows.v[i][s] = x);
  return diagonal(rows);
}

// Stores this warp's block of a tile in place of what has been stored there: on the diagonal, or that of level 16. A
// warp that has none of level 16 stores over the block on the diagonal, which comes next: a branch takes more
// registers. Columns are below 64: the compiler does not know that of rows.
template <class T, int R>
WKVC_INLINE void store_diagonal(const Role& role, const Swizzled<T, R, R>& to, const Tile<T, 16, 16>& block) {
  const int row0 = role.row0();
  fragment::store_at<T>(pieces_from(to, row0, row0 & 48), block.block[0][0]);
}
template <class T, int R>
WKVC_INLINE void store_level(const Role& role, const Swizzled<T, R, R>& to, const Tile<T, 16, 16>& block) {
  const int row0 = role.row0();
  fragment::store_at<T>(pieces_from(to, row0, row0 & 32), block.block[0][0]);
}

// Returns what a tile, or 16 columns of it from block `first` on, has in level N, and zero elsewhere; or what it has
// elsewhere, and zero in level N.
template <int N, bool Without, int C>
WKVC_INLINE Tile<f32, 16, C> select_level(const Role& role, const Tile<f32, 16, C>& x, int first) {
  constexpr int kHalf = N / 16;
  const int half = made_again(role.warp) / kHalf;
  const auto has = [half](int place) WKVC_INLINE_LAMBDA { return place % 2 == 0 && half == place + 1; };
  Tile<f32, 16, C> y;
  WKVC_EACH_ELEMENT(16, C, y.block[i][j].unit[e] = has((first + j) / kHalf) != Without ? x.block[i][j].unit[e] : 0.f);
  return y;
}
template <int N, int C>
WKVC_INLINE Tile<f32, 16, C> level(const Role& role, const Tile<f32, 16, C>& x, ColumnBlock first = {0}) {
  return select_level<N, false>(role, x, first.number);
}
template <int N, int C>
WKVC_INLINE Tile<f32, 16, C> without_level(const Role& role, const Tile<f32, 16, C>& x, ColumnBlock first = {0}) {
  return select_level<N, true>(role, x, first.number);
}

}  // namespace wkvc
