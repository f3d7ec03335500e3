// acc[m,n] += Σ_k a[m,k]·b[n,k] for 16x16 blocks. The registers of a block are the A operand as they are.
#pragma once

#include "wkvc/cuda/fragment.h"
#include "wkvc/cuda/ptx.h"

namespace wkvc {

WKVC_INLINE void mma_block(Fragment<f32>& acc, const Fragment<f16>& a, const fragment::Columns<f16>& b) {
  ptx::mma_f16(acc.unit, a.unit, b.unit[0], b.unit[1]);
  ptx::mma_f16(acc.unit + 4, a.unit, b.unit[2], b.unit[3]);
}

WKVC_INLINE void mma_block(Fragment<f32>& acc, const Fragment<bf16>& a, const fragment::Columns<bf16>& b) {
  ptx::mma_bf16(acc.unit, a.unit, b.unit[0], b.unit[1]);
  ptx::mma_bf16(acc.unit + 4, a.unit, b.unit[2], b.unit[3]);
}

// Three of the four products of the terms, the small ones first; low·low is below the rounding of low.
template <TwoTerms T>
WKVC_INLINE void mma_block(Fragment<f32>& acc, const Fragment<T>& a, const fragment::Columns<T>& b) {
  mma_block(acc, fragment::low_terms(a), fragment::high_terms(b));
  mma_block(acc, fragment::high_terms(a), fragment::low_terms(b));
  mma_block(acc, fragment::high_terms(a), fragment::high_terms(b));
}
WKVC_INLINE void mma_block(Fragment<f32>& acc, const Fragment<f16>& a, const fragment::Columns<f16x2>& b) {
  mma_block(acc, a, fragment::low_terms(b));
  mma_block(acc, a, fragment::high_terms(b));
}
WKVC_INLINE void mma_block(Fragment<f32>& acc, const Fragment<f16x2>& a, const fragment::Columns<f16>& b) {
  mma_block(acc, fragment::low_terms(a), b);
  mma_block(acc, fragment::high_terms(a), b);
}

// Σ_k a[n,k]·b[n,k] of two B operands, for half of the n: 0 … 7 or the others. Their halves of k serve as the 16 rows
// of an A operand: one half's products lie in the upper rows of one accumulator, the other's in the lower ones of
// another, each on a diagonal.
template <int Half>
struct HalfDots {
  float acc[2][4];  // by half of k

  WKVC_INLINE void add(const fragment::Columns<f16>& a, const fragment::Columns<f16>& b) {
    WKVC_FOR(i, 2, ptx::mma_f16_half(acc[i], a.unit[2 * Half], a.unit[2 * Half + 1], b.unit[2 * Half + i]));
  }
  WKVC_INLINE void add(const fragment::Columns<bf16>& a, const fragment::Columns<bf16>& b) {
    WKVC_FOR(i, 2, ptx::mma_bf16_half(acc[i], a.unit[2 * Half], a.unit[2 * Half + 1], b.unit[2 * Half + i]));
  }
  // Of this half's sums what this lane has.
  WKVC_INLINE void put(float* column_slots) const {
    WKVC_FOR(i, 2, column_slots[2 * Half + i] = is_diagonal(i) ? acc[0][i] + acc[1][2 + i] : 0.f);
  }

 private:
  static WKVC_INLINE bool is_diagonal(int i) { return ptx::lane() / 4 == ptx::lane() % 4 * 2 + i; }
};

// Half of a contraction in tf32. m16n8k8 wants k = t and k = t+4 from a lane that holds columns 2t and 2t+1. The order
// of the contraction is free: both operands call column 2t "t" and column 2t+1 "t+4".
WKVC_INLINE void mma_half_tf32(Fragment<f32>& acc, const float* a, const float* b) {
  const u32 rows[4] = {ptx::bits_of(a[0]), ptx::bits_of(a[2]), ptx::bits_of(a[1]), ptx::bits_of(a[3])};
  const u32 columns[2][2] = {{ptx::bits_of(b[0]), ptx::bits_of(b[1])}, {ptx::bits_of(b[2]), ptx::bits_of(b[3])}};
  WKVC_FOR(i, 2, ptx::mma_tf32(acc.unit + 4 * i, rows, columns[i]));
}
WKVC_INLINE void mma_block(Fragment<f32>& acc, const Fragment<tf32>& a, const fragment::Columns<tf32>& b) {
  WKVC_FOR(i, 2, mma_half_tf32(acc, a.unit + 4 * i, b.unit + 4 * i));
}

// x = high + low, of which the tensor core reads all but the last 2^-21 of x. Cut rather than rounded: rounding takes
// several instructions.
template <int N>
struct SplitTf32 {
  u32 high[N], low[N];

  WKVC_INLINE void set(int i, float x) {
    high[i] = ptx::bits_of(x) & ptx::kTf32Bits;
    low[i] = ptx::bits_of(x - ptx::float_of(high[i]));
  }
};

// Three of the four products of the halves, the small ones first; low·low is below f32's own rounding.
WKVC_INLINE void mma_split(float* acc, const SplitTf32<4>& a, const SplitTf32<2>& b) {
  ptx::mma_tf32(acc, a.low, b.high);
  ptx::mma_tf32(acc, a.high, b.low);
  ptx::mma_tf32(acc, a.high, b.high);
}

// Half of a contraction in f32, in the order of mma_half_tf32.
WKVC_INLINE void mma_half(Fragment<f32>& acc, const float* a, const float* b) {
  SplitTf32<4> rows;
  WKVC_FOR(i, 4, rows.set(i, a[i % 2 * 2 + i / 2]));
  SplitTf32<2> columns[2];
  WKVC_FOR(i, 4, columns[i / 2].set(i % 2, b[i]));
  mma_split(acc.unit, rows, columns[0]);
  mma_split(acc.unit + 4, rows, columns[1]);
}
WKVC_INLINE void mma_block(Fragment<f32>& acc, const Fragment<f32>& a, const fragment::Columns<f32>& b) {
  mma_half(acc, a.unit, b.unit);
  mma_half(acc, a.unit + 4, b.unit + 4);
}

}  // namespace wkvc
