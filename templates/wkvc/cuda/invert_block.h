// (I - X)^-1 of one 16x16 block, X strictly lower triangular, to the accuracy of f32 substitution.
// Doubling (I+X)(I+X²)(I+X⁴)… would be shorter, but its terms grow like binomials and cancel: with one key repeated it
// loses every digit of f16. So: substitution in f32 inside both 8x8 diagonal blocks at once, then one product between.
#pragma once

#include "wkvc/cuda/mma_block.h"

namespace wkvc {

// The lane's elements (g,2t) (g,2t+1) of an 8x8 matrix.
struct Pair {
  float v[2];
};

namespace invert {

// Row j of the inverse is final once the rows above it are in; then row i gains x[i,j]·row j for every i > j.
WKVC_INLINE void substitute_row(Pair& inverse, const Pair& x, int j) {
  const int lane = ptx::lane();
  const float factor = ptx::shuffle(x.v[j % 2], lane / 4 * 4 + j / 2);  // zero unless this lane's row is below j
  WKVC_FOR(i, 2, inverse.v[i] += factor * ptx::shuffle(inverse.v[i], 4 * j + lane % 4));
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

}  // namespace invert

WKVC_INLINE Fragment<f32> invert_block(const Fragment<f32>& x) {
  const int row = ptx::lane() / 4, column = ptx::lane() % 4 * 2;
  const Pair identity{{row == column ? 1.f : 0.f, row == column + 1 ? 1.f : 0.f}};
  const Pair x11{{x.unit[0], x.unit[1]}}, x21{{x.unit[2], x.unit[3]}}, x22{{x.unit[6], x.unit[7]}};
  Pair n11 = identity, n22 = identity, n11_t;
  WKVC_FOR(j, 7, (invert::substitute_row(n11, x11, j), invert::substitute_row(n22, x22, j)));
  fragment::transpose_8x8(n11.v, n11_t.v);
  const Pair x21_n11_t = invert::product_nt(n11_t, x21);  // (x21·n11)ᵀ, which is the B operand of the next product
  const Pair n21 = invert::product_nt(n22, x21_n11_t);
  return Fragment<f32>{{n11.v[0], n11.v[1], n21.v[0], n21.v[1], 0.f, 0.f, n22.v[0], n22.v[1]}};
}

}  // namespace wkvc
