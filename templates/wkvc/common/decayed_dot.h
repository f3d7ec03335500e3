// acc[i,j] += Σ_κ x[i,κ]·y[j,κ]·exp(Lx[i,κ] - Ly[j,κ]) for j < i, or j <= i where Inclusive: the exact form for decays
// without a bound. At those pairs the exponent is not positive; the others keep their value, and no exponential of a
// positive number is taken.
#pragma once

#include "wkvc/common/shared_tile.h"

namespace wkvc {

namespace decayed {

inline constexpr int kStep = 2;  // columns read at a time

template <int Slots>
struct Operand {
  float value[Slots][kStep], exponent[Slots][kStep];
};

// The rows of a 16-row slab that the slots of this lane stand for, at kStep columns.
template <class Axis, class X, class L>
WKVC_INLINE Operand<Axis::kSlots> read(const X& x, const L& l, int first_row, int column) {
  Operand<Axis::kSlots> y;
  WKVC_UNROLL
  for (int s = 0; s < Axis::kSlots; ++s) {
    const int row = first_row + Axis::position(s);
    memory::load_adjacent(x.at(row, column), y.value[s]);
    memory::load_adjacent(l.at(row, column), y.exponent[s]);
  }
  return y;
}

template <class Xs, class Lx, class Ys, class Ly>
WKVC_INLINE Fragment<f32> block(const Xs& xs, const Lx& lx, const Ys& ys, const Ly& ly, int i, int j) {
  Fragment<f32> sum{};
  for (int column = 0; column < Xs::kColumns; column += kStep) {
    const auto x = read<PerRow>(xs, lx, 16 * i, column);
    const auto y = read<PerColumn>(ys, ly, 16 * j, column);
    WKVC_UNROLL
    for (int e = 0; e < layout::kElements; ++e) {
      const int r = PerRow::slot(e), c = PerColumn::slot(e);
      WKVC_UNROLL
      for (int n = 0; n < kStep; ++n) {
        const float decay = scalar::exp(scalar::min(x.exponent[r][n] - y.exponent[c][n], 0.f));
        sum.unit[e] += x.value[r][n] * y.value[c][n] * decay;
      }
    }
  }
  return sum;
}

}  // namespace decayed

template <bool Inclusive, int C, class Xs, class Lx, class Ys, class Ly>
WKVC_INLINE void decayed_dot(Tile<f32, C, C>& acc, const Xs& xs, const Lx& lx, const Ys& ys, const Ly& ly) {
  WKVC_UNROLL
  for (int i = 0; i < C / 16; ++i) {
    WKVC_UNROLL
    for (int j = 0; j <= i; ++j) {
      const Fragment<f32> sum = decayed::block(xs, lx, ys, ly, i, j);
      WKVC_UNROLL
      for (int e = 0; e < layout::kElements; ++e) {
        const int row = 16 * i + PerRow::position(PerRow::slot(e));
        const int column = 16 * j + PerColumn::position(PerColumn::slot(e));
        if (column < row || (Inclusive && column == row)) acc.block[i][j].unit[e] += sum.unit[e];
      }
    }
  }
}

}  // namespace wkvc
