// Vector-Jacobian products of decayed_dot, g[i,j] being the gradient of its result:
//   decayed_left:  acc[i,κ] += Σ_j g[i,j]·y[j,κ]·exp(Lx[i,κ] - Ly[j,κ])
//   decayed_right: acc[j,κ] += Σ_i g[i,j]·x[i,κ]·exp(Lx[i,κ] - Ly[j,κ])
// both over j < i, or j <= i where Inclusive. The rest of g does not count, whatever it is, and no exponential of a
// positive number is taken.
#pragma once

#include "wkvc/common/decayed_dot.h"

namespace wkvc {

namespace decayed {

// A row of the accumulator gathers from `other` rows: where in g their weight is, which rows count, and the exponent.
struct Left {
  static WKVC_INLINE constexpr bool before(int own, int other) { return other < own; }
  static WKVC_INLINE float exponent(float own, float other) { return own - other; }
  template <class G>
  static WKVC_INLINE void read_weights(const G& g, int own, int other, float (&weight)[kStep]) {
    memory::load_adjacent(g.at(own, other), weight);
  }
};
struct Right {
  static WKVC_INLINE constexpr bool before(int own, int other) { return other > own; }
  static WKVC_INLINE float exponent(float own, float other) { return other - own; }
  template <class G>
  static WKVC_INLINE void read_weights(const G& g, int own, int other, float (&weight)[kStep]) {
    WKVC_UNROLL
    for (int n = 0; n < kStep; ++n) weight[n] = *g.at(other + n, own);
  }
};

// One row at the columns that this lane holds, which come in pairs of neighbours.
struct Row {
  float pair[PerColumn::kSlots / 2][2];

  WKVC_INLINE float operator[](int slot) const { return pair[slot / 2][slot % 2]; }
};
template <class X>
WKVC_INLINE Row read_row(const X& x, int row, int first_column) {
  Row y;
  WKVC_UNROLL
  for (int p = 0; p < PerColumn::kSlots / 2; ++p) {
    memory::load_adjacent(x.at(row, first_column + PerColumn::position(2 * p)), y.pair[p]);
  }
  return y;
}

// What block row `other` adds to block (own, column) of the accumulator, whose exponents are `exponents`.
template <class Side, bool Inclusive, class G, class Z, class L>
WKVC_INLINE void add_block(Fragment<f32>& acc, const Fragment<f32>& exponents, const G& g, const Z& z, const L& l,
                           int own, int other, int column) {
  for (int first = 16 * other; first < 16 * other + 16; first += kStep) {
    float weight[PerRow::kSlots][kStep];
    WKVC_UNROLL
    for (int s = 0; s < PerRow::kSlots; ++s) {
      Side::read_weights(g, 16 * own + PerRow::position(s), first, weight[s]);
    }
    WKVC_UNROLL
    for (int n = 0; n < kStep; ++n) {
      const Row value = read_row(z, first + n, 16 * column), exponent = read_row(l, first + n, 16 * column);
      WKVC_UNROLL
      for (int e = 0; e < layout::kElements; ++e) {
        const int s = PerRow::slot(e), c = PerColumn::slot(e), row = 16 * own + PerRow::position(s);
        const float decay = scalar::exp(scalar::min(Side::exponent(exponents.unit[e], exponent[c]), 0.f));
        const bool counts = own != other || Side::before(row, first + n) || (Inclusive && row == first + n);
        acc.unit[e] += counts ? weight[s][n] * value[c] * decay : 0.f;
      }
    }
  }
}

template <class Side, bool Inclusive, int C, int N, class G, class Z, class OwnL, class OtherL>
WKVC_INLINE void add_products(Tile<f32, C, N>& acc, const G& g, const Z& z, const OwnL& own_l, const OtherL& other_l) {
  static_assert(G::kRows == C && G::kColumns == C && Z::kRows == C && Z::kColumns == N, "operands do not fit");
  WKVC_UNROLL
  for (int own = 0; own < C / 16; ++own) {
    WKVC_UNROLL
    for (int column = 0; column < N / 16; ++column) {
      const Fragment<f32> exponents = operand_block(own_l, own, column);
      WKVC_UNROLL
      for (int other = 0; other < C / 16; ++other) {
        if (other != own && !Side::before(own, other)) continue;
        add_block<Side, Inclusive>(acc.block[own][column], exponents, g, z, other_l, own, other, column);
      }
    }
  }
}

}  // namespace decayed

template <bool Inclusive, int C, int N, class G, class Ys, class Lx, class Ly>
WKVC_INLINE void decayed_left(Tile<f32, C, N>& acc, const G& g, const Ys& ys, const Lx& lx, const Ly& ly) {
  decayed::add_products<decayed::Left, Inclusive>(acc, g, ys, lx, ly);
}
template <bool Inclusive, int C, int N, class G, class Xs, class Lx, class Ly>
WKVC_INLINE void decayed_right(Tile<f32, C, N>& acc, const G& g, const Xs& xs, const Lx& lx, const Ly& ly) {
  decayed::add_products<decayed::Right, Inclusive>(acc, g, xs, ly, lx);
}

}  // namespace wkvc
