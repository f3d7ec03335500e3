// acc[m,n] += Σ_k a[m,k]·b[n,k] for 16x16 blocks, in f32.
#pragma once

#include "wkvc/host/fragment.h"
#include "wkvc/host/scalar.h"

namespace wkvc {

template <class T>
void widen_into(const Fragment<T>& x, float (&y)[layout::kElements]) {
  for (int e = 0; e < layout::kElements; ++e) y[e] = scalar::widen(x.unit[e]);
}

inline void add_product(Fragment<f32>& acc, const float* rows, const float* columns) {
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 16; ++n) {
      float sum = 0.f;
      for (int k = 0; k < 16; ++k) sum += rows[16 * m + k] * columns[16 * n + k];
      acc.unit[16 * m + n] += sum;
    }
  }
}

template <class T>
void mma_block(Fragment<f32>& acc, const Fragment<T>& a, const Fragment<T>& b) {
  float rows[layout::kElements], columns[layout::kElements];
  widen_into(a, rows);
  widen_into(b, columns);
  add_product(acc, rows, columns);
}

struct Terms {
  float high[layout::kElements], low[layout::kElements];

  template <TwoTerms T>
  explicit Terms(const Fragment<T>& x) {
    for (int e = 0; e < layout::kElements; ++e) high[e] = scalar::widen(TermOf<T>{x.unit[e].high});
    for (int e = 0; e < layout::kElements; ++e) low[e] = scalar::widen(TermOf<T>{x.unit[e].low});
  }
};

// Three of the four products of the terms, the small ones first.
template <TwoTerms T>
void mma_block(Fragment<f32>& acc, const Fragment<T>& a, const Fragment<T>& b) {
  const Terms rows(a), columns(b);
  add_product(acc, rows.low, columns.high);
  add_product(acc, rows.high, columns.low);
  add_product(acc, rows.high, columns.high);
}
inline void mma_block(Fragment<f32>& acc, const Fragment<f16>& a, const Fragment<f16x2>& b) {
  float rows[layout::kElements];
  widen_into(a, rows);
  const Terms columns(b);
  add_product(acc, rows, columns.low);
  add_product(acc, rows, columns.high);
}
inline void mma_block(Fragment<f32>& acc, const Fragment<f16x2>& a, const Fragment<f16>& b) {
  const Terms rows(a);
  float columns[layout::kElements];
  widen_into(b, columns);
  add_product(acc, rows.low, columns);
  add_product(acc, rows.high, columns);
}

// Σ_k a[n,k]·b[n,k] of two B operands, for half of the n.
template <int Half>
struct HalfDots {
  float acc[8];

  template <class T>
  void add(const fragment::Columns<T>& a, const fragment::Columns<T>& b) {
    for (int e = 0; e < 128; ++e)
      acc[e / 16] += scalar::widen(a.unit[128 * Half + e]) * scalar::widen(b.unit[128 * Half + e]);
  }
  void put(float* column_slots) const {
    for (int n = 0; n < 8; ++n) column_slots[8 * Half + n] = acc[n];
  }
};

}  // namespace wkvc
