// (I - X)^-1 of one 16x16 block, X strictly lower triangular, to the accuracy of f32 substitution.
// Doubling (I+X)(I+X²)(I+X⁴)… would be shorter, but its terms grow like binomials and cancel: with one key repeated it
// loses every digit of f16. So: substitution in f32 inside both 8x8 diagonal blocks at once, then one product between.
#pragma once

#include "wkvc/cuda/lanes.h"
#include "wkvc/cuda/mma_block.h"

namespace wkvc {

// The lane's elements (g,2t) (g,2t+1) of an 8x8 matrix.
struct Pair {
  float v[2];
};

namespace invert {

// Both 8x8 blocks in shared memory, row by row; the padding keeps rows out of each other's banks.
inline constexpr int kLd = 12;
static_assert(2 * 8 * kLd == 192, "kernels reserve another scratch");
WKVC_INLINE float* row_of(float* scratch, int block, int row) { return scratch + (8 * block + row) * kLd; }

WKVC_INLINE float* own_pair(float* scratch, int block) {
  return row_of(scratch, block, ptx::lane() / 4) + ptx::lane() % 4 * 2;
}
WKVC_INLINE Pair load_pair(float* scratch, int block) {
  Pair x;
  fragment::load_pair(own_pair(scratch, block), x.v);
  return x;
}
WKVC_INLINE Pair load_pair_transposed(float* scratch, int block) {
  const int column = ptx::lane() / 4, row = ptx::lane() % 4 * 2;
  return Pair{{row_of(scratch, block, row)[column], row_of(scratch, block, row + 1)[column]}};
}

// Element i of one column of the inverse, once those above it are there.
WKVC_INLINE void substitute(float (&column)[8], const float* x_row, int i) {
  const float4 low = *reinterpret_cast<const float4*>(x_row), high = *reinterpret_cast<const float4*>(x_row + 4);
  const float x[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  WKVC_FOR(k, 7, column[i] += k < i ? x[k] * column[k] : 0.f);
}

// Replaces both blocks by their inverses, transposed: each of the first 16 lanes one column, the others the same again.
WKVC_INLINE void invert_blocks(float* scratch) {
  const int block = ptx::lane() / 8 % 2, own = ptx::lane() % 8;
  float column[8];
  WKVC_FOR(i, 8, column[i] = i == own ? 1.f : 0.f);
  WKVC_FOR(i, 7, substitute(column, row_of(scratch, block, i + 1), i + 1));
  lanes::sync();
  if (ptx::lane() < 16) {
    float4* const to = reinterpret_cast<float4*>(row_of(scratch, block, own));
    to[0] = make_float4(column[0], column[1], column[2], column[3]);
    to[1] = make_float4(column[4], column[5], column[6], column[7]);
  }
  lanes::sync();
}

// An 8x8 product a·bᵀ on the tensor cores with f32's accuracy.
WKVC_INLINE Pair product_nt(const Pair& a, const Pair& b) {
  SplitTf32<4> rows;
  rows.set(0, a.v[0]);
  rows.set(1, 0.f);
  rows.set(2, a.v[1]);
  rows.set(3, 0.f);
  SplitTf32<2> columns;
  columns.set(0, b.v[0]);
  columns.set(1, b.v[1]);
  float acc[4] = {};
  mma_split(acc, rows, columns);
  return Pair{{acc[0], acc[1]}};
}

// The product of a lower triangular a whose row m takes nothing but columns up to m of b: the rest may be NaN. Finite
// operands make the same bytes in either way.
WKVC_INLINE Pair lower_product_nt(const Pair& a, const Pair& b) {
  if (!lanes::any(b.v[0] * 0.f + b.v[1] * 0.f != 0.f)) return product_nt(a, b);
  const int own_row = ptx::lane() / 4, own_column = ptx::lane() % 4 * 2;
  Pair product;
  WKVC_NO_UNROLL
  for (int row = 0; row < 8; ++row) {
    const Pair sum = product_nt(a, Pair{{own_column <= row ? b.v[0] : 0.f, own_column + 1 <= row ? b.v[1] : 0.f}});
    if (own_row == row) product = sum;
  }
  return product;
}

}  // namespace invert

// `scratch`: 192 floats in shared memory, for this warp alone. In the mode f32 a row of the inverse takes nothing of
// later rows of X, whatever they hold.
template <class Mode>
WKVC_INLINE Fragment<f32> invert_block(const Fragment<f32>& x, float* scratch) {
  lanes::sync();  // lanes that still read the last block's
  fragment::store_pair(invert::own_pair(scratch, 0), x.unit);
  fragment::store_pair(invert::own_pair(scratch, 1), x.unit + 6);
  lanes::sync();
  invert::invert_blocks(scratch);
  const Pair x21{{x.unit[2], x.unit[3]}}, n11 = invert::load_pair_transposed(scratch, 0);
  const Pair n11_t = invert::load_pair(scratch, 0), n22 = invert::load_pair_transposed(scratch, 1);
  const Pair x21_n11_t = invert::product_nt(n11_t, x21);  // (x21·n11)ᵀ, which is the B operand of the next product
  const Pair n21 = is_same<Mode, f32> ? invert::lower_product_nt(n22, x21_n11_t) : invert::product_nt(n22, x21_n11_t);
  return Fragment<f32>{{n11.v[0], n11.v[1], n21.v[0], n21.v[1], 0.f, 0.f, n22.v[0], n22.v[1]}};
}

}  // namespace wkvc
