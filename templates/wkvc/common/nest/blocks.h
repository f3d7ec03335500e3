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
                    y.block[i][j].unit[e] =
                        row0 + row_of(i, e) == column_of(j, e) ? rows.v[i][PerRow::slot(e)] : 0.f);
  return y;
}
WKVC_INLINE Tile<f32, 16, 16> diagonal(float x) {
  ColVec<16> rows;
  WKVC_EACH_SLOT(PerRow, 16, rows.v[i][s] = x);
  return diagonal(rows);
}

// Whether a row of blocks has block j on the diagonal, or in level N.
struct OnDiagonal {
  static WKVC_INLINE bool has(int warp, int j) { return warp == j; }
};
template <int N>
struct Level {
  static WKVC_INLINE bool has(int warp, int j) { return j / (N / 16) % 2 == 0 && warp / (N / 16) == j / (N / 16) + 1; }
};

// Returns x in blocks of a place, and y elsewhere; of 16 columns, block `first`. An operand of 16 columns is repeated.
template <class Place, int C, class T, int CX, int CY>
WKVC_INLINE Tile<T, 16, C> select_blocks(const Role& role, const Tile<T, 16, CX>& x, const Tile<T, 16, CY>& y,
                                         ColumnBlock first) {
  const int warp = made_again(role.warp);
  Tile<T, 16, C> z;
  WKVC_EACH_UNIT(T, 16, C,
                 z.block[i][j].unit[u] = Place::has(warp, first.number + j) ? x.block[i][CX == 16 ? 0 : j].unit[u]
                                                                            : y.block[i][CY == 16 ? 0 : j].unit[u]);
  return z;
}

// Returns a tile with another block in a place, and one that is zero elsewhere.
template <class Place, class T, int C>
WKVC_INLINE Tile<T, 16, C> set_block(const Role& role, const Tile<T, 16, C>& x, const Tile<T, 16, 16>& block,
                                     ColumnBlock first = {0}) {
  return select_blocks<Place, C>(role, block, x, first);
}
template <class Place, class T>
WKVC_INLINE Tile<T, 16, 16> only_block(const Role& role, const Tile<T, 16, 16>& block, ColumnBlock at) {
  return select_blocks<Place, 16>(role, block, Tile<T, 16, 16>{}, at);
}

// Returns what a tile has in level N and zero elsewhere, or zero there and what it has elsewhere.
template <int N, class T, int C>
WKVC_INLINE Tile<T, 16, C> level(const Role& role, const Tile<T, 16, C>& x, ColumnBlock first = {0}) {
  return select_blocks<Level<N>, C>(role, x, Tile<T, 16, 16>{}, first);
}
template <int N, class T, int C>
WKVC_INLINE Tile<T, 16, C> without_level(const Role& role, const Tile<T, 16, C>& x, ColumnBlock first = {0}) {
  return select_blocks<Level<N>, C>(role, Tile<T, 16, 16>{}, x, first);
}

}  // namespace wkvc
