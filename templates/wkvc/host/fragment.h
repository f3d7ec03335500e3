// One 16x16 block of a register tile, and its ways to and from shared memory: of 32 bits with `ld` elements from row
// to row, others from wherever they lie.
#pragma once

#include "wkvc/host/layout.h"

namespace wkvc {

template <class T>
struct Fragment {
  T unit[layout::kElements];
};

namespace fragment {

template <class T>
Fragment<T> transpose(const Fragment<T>& x) {
  Fragment<T> y;
  for (int e = 0; e < 256; ++e) y.unit[e] = x.unit[e % 16 * 16 + e / 16];
  return y;
}

// Makes a block of two terms; the next two functions return the terms.
template <TwoTerms T>
Fragment<T> of_terms(const Fragment<TermOf<T>>& high, const Fragment<TermOf<T>>& low) {
  Fragment<T> x;
  for (int e = 0; e < 256; ++e) x.unit[e] = T{high.unit[e].bits, low.unit[e].bits};
  return x;
}
template <TwoTerms T>
Fragment<TermOf<T>> high_terms(const Fragment<T>& x) {
  Fragment<TermOf<T>> high;
  for (int e = 0; e < 256; ++e) high.unit[e] = {x.unit[e].high};
  return high;
}
template <TwoTerms T>
Fragment<TermOf<T>> low_terms(const Fragment<T>& x) {
  Fragment<TermOf<T>> low;
  for (int e = 0; e < 256; ++e) low.unit[e] = {x.unit[e].low};
  return low;
}

// Blocks of lower_f16x2 as they lie, as f16, and the converse.
inline Fragment<f16> as_it_lies(const Fragment<lower_f16x2>& x) {
  Fragment<f16> y;
  for (int e = 0; e < 256; ++e) y.unit[e] = x.unit[e];
  return y;
}
inline Fragment<lower_f16x2> as_folded(const Fragment<f16>& x) {
  Fragment<lower_f16x2> y;
  for (int e = 0; e < 256; ++e) y.unit[e] = lower_f16x2{x.unit[e]};
  return y;
}

// A block on the diagonal of a matrix of lower_f16x2 from its terms, and the terms from the block and its transpose;
// those of the transposed matrix, the same way.
inline Fragment<f16> fold_terms(const Fragment<f16x2>& x) {
  const Fragment<f16> low = transpose(low_terms(x));
  Fragment<f16> folded = high_terms(x);
  for (int e = 0; e < 256; ++e)
    if (e % 16 > e / 16) folded.unit[e] = low.unit[e];
  return folded;
}
inline Fragment<f16x2> lower_terms(const Fragment<f16>& x, const Fragment<f16>& transposed) {
  Fragment<f16> high = x, low = transposed;
  for (int e = 0; e < 256; ++e) {
    if (e % 16 > e / 16) high.unit[e] = {};
    if (e % 16 >= e / 16) low.unit[e] = {};
  }
  return of_terms<f16x2>(high, low);
}
inline Fragment<f16x2> upper_terms(const Fragment<f16>& x, const Fragment<f16>& transposed) {
  return transpose(lower_terms(transpose(transposed), transpose(x)));
}

// The exponent of a block's first element.
inline u32 first_exponent(const Fragment<f16>& x) { return x.unit[0].bits >> 10 & 31u; }
inline void set_first_exponent(Fragment<f16>& x, u32 exponent) {
  x.unit[0].bits = static_cast<u16>((x.unit[0].bits & ~(31u << 10)) | exponent << 10);
}
// The last digits of the first 32 elements.
inline u32 last_digits(const Fragment<f16>& x) {
  u32 digits = 0;
  for (int e = 0; e < 32; ++e) digits |= (x.unit[e].bits & 1u) << e;
  return digits;
}
inline void set_last_digits(Fragment<f16>& x, u32 digits) {
  for (int e = 0; e < 32; ++e) x.unit[e].bits = static_cast<u16>((x.unit[e].bits & ~1u) | (digits >> e & 1u));
}

// Of a block whose elements lie anywhere: at(row, column).
template <class T, class At>
Fragment<T> load_at(At at) {
  Fragment<T> x;
  for (int e = 0; e < 256; ++e) x.unit[e] = *at(e / 16, e % 16);
  return x;
}
template <class T, class At>
Fragment<T> load_transposed_at(At at) {
  return transpose(load_at<T>(at));
}
template <class T, class At>
void store_at(At at, const Fragment<T>& x) {
  for (int e = 0; e < 256; ++e) *at(e / 16, e % 16) = x.unit[e];
}
template <class T, class At>
void store_transposed_at(At at, const Fragment<T>& x) {
  store_at<T>(at, transpose(x));
}

template <class T>
auto in_rows(T* block, int ld) {
  return [=](int row, int column) { return block + row * ld + column; };
}
template <class T>
Fragment<T> load(const T* block, int ld) {
  return load_at<T>(in_rows(block, ld));
}
template <class T>
Fragment<T> load_transposed(const T* block, int ld) {
  return transpose(load(block, ld));
}
template <class T>
void store(T* block, int ld, const Fragment<T>& x) {
  store_at<T>(in_rows(block, ld), x);
}
template <class T>
void store_transposed(T* block, int ld, const Fragment<T>& x) {
  store(block, ld, transpose(x));
}

// A block as B operand of a contraction: here like any other.
template <class T>
using Columns = Fragment<T>;
template <class T>
Columns<T> columns(const Fragment<T>& x) {
  return x;
}
template <class T>
Fragment<T> rows(const Columns<T>& x) {
  return x;
}
template <class T, class At>
Columns<T> load_columns_at(At at) {
  return load_at<T>(at);
}
template <class T, class At>
Columns<T> load_columns_transposed_at(At at) {
  return load_transposed_at<T>(at);
}
template <class T>
Columns<T> load_columns(const T* block, int ld) {
  return load(block, ld);
}
template <class T>
Columns<T> load_columns_transposed(const T* block, int ld) {
  return load_transposed(block, ld);
}

}  // namespace fragment
}  // namespace wkvc
