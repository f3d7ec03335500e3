// One 16x16 block of a register tile, and its ways to and from shared memory: of f32 and tf32 with `ld` elements from
// row to row, of 16 bits in pieces of 8 columns that lie anywhere. Elements of two terms take 32 bits: of each 8
// columns of a row the high terms, then the low ones.
#pragma once

#include "wkvc/cuda/layout.h"
#include "wkvc/cuda/ptx.h"
#include "wkvc/cuda/scalar.h"

namespace wkvc {

template <class T>
struct Fragment {
  typename Unit<T>::type unit[layout::kElements / Unit<T>::elements];
};

namespace fragment {

// A block as B operand of a contraction: the registers of each half of its rows side by side, as mma wants them.
template <class T>
struct Columns {
  typename Unit<T>::type unit[4];
};
template <>
struct Columns<f32> : Fragment<f32> {};
template <>
struct Columns<tf32> : Fragment<tf32> {};

template <class T>
WKVC_INLINE Columns<T> columns(const Fragment<T>& x) {
  return Columns<T>{{x.unit[0], x.unit[2], x.unit[1], x.unit[3]}};
}
WKVC_INLINE Columns<f32> columns(const Fragment<f32>& x) { return Columns<f32>{x}; }
WKVC_INLINE Columns<tf32> columns(const Fragment<tf32>& x) { return Columns<tf32>{x}; }
// The converse.
template <class T>
WKVC_INLINE Fragment<T> rows(const Columns<T>& x) {
  return Fragment<T>{{x.unit[0], x.unit[2], x.unit[1], x.unit[3]}};
}
WKVC_INLINE Fragment<f32> rows(const Columns<f32>& x) { return x; }
WKVC_INLINE Fragment<tf32> rows(const Columns<tf32>& x) { return x; }

// The exponent of a block's first element, known to every lane.
WKVC_INLINE u32 first_exponent(const Fragment<f16>& x) {
  return static_cast<u32>(ptx::shuffle(static_cast<int>(x.unit[0]), 0)) >> 10 & 31u;
}
WKVC_INLINE void set_first_exponent(Fragment<f16>& x, u32 exponent) {
  if (ptx::lane() == 0) x.unit[0] = (x.unit[0] & ~(31u << 10)) | exponent << 10;
}
// The last digits of 32 elements, one of each lane.
WKVC_INLINE u32 last_digits(const Fragment<f16>& x) { return ptx::ballot((x.unit[0] & 1u) != 0); }
WKVC_INLINE void set_last_digits(Fragment<f16>& x, u32 digits) {
  x.unit[0] = (x.unit[0] & ~1u) | (digits >> ptx::lane() & 1u);
}

// ldmatrix and stmatrix read an address from each lane, of 8 columns of a row of the block: its 8x8 quarters in the
// order of the four registers. Where they lie is at(row, column).
template <class At>
WKVC_INLINE auto* matrix_row(At at) {
  return at(ptx::lane() % 16, ptx::lane() / 16 * 8);
}
// The same with the off-diagonal quarters exchanged: with .trans it reads or writes the transposed block.
template <class At>
WKVC_INLINE auto* matrix_row_transposed(At at) {
  return at(ptx::lane() % 8 + ptx::lane() / 16 * 8, ptx::lane() / 8 % 2 * 8);
}

template <class T, class At>
WKVC_INLINE Fragment<T> load_at(At at) {
  Fragment<T> x;
  ptx::ldmatrix(x.unit, matrix_row(at));
  return x;
}
template <class T, class At>
WKVC_INLINE Fragment<T> load_transposed_at(At at) {
  Fragment<T> x;
  ptx::ldmatrix_trans(x.unit, matrix_row_transposed(at));
  return x;
}
template <class T, class At>
WKVC_INLINE void store_at(At at, const Fragment<T>& x) {
  ptx::stmatrix(matrix_row(at), x.unit);
}
template <class T, class At>
WKVC_INLINE void store_transposed_at(At at, const Fragment<T>& x) {
  ptx::stmatrix_trans(matrix_row_transposed(at), x.unit);
}
// Reading the quarters in the order of a B operand costs nothing, moving registers would.
template <class T, class At>
WKVC_INLINE Columns<T> load_columns_at(At at) {
  Columns<T> x;
  ptx::ldmatrix(x.unit, matrix_row_transposed(at));
  return x;
}
template <class T, class At>
WKVC_INLINE Columns<T> load_columns_transposed_at(At at) {
  Columns<T> x;
  ptx::ldmatrix_trans(x.unit, matrix_row(at));
  return x;
}

// Makes a Fragment or Columns of two terms; the next two functions return the terms.
template <TwoTerms T, template <class> class Part>
WKVC_INLINE Part<T> of_terms(const Part<TermOf<T>>& high, const Part<TermOf<T>>& low) {
  Part<T> x;
  WKVC_FOR(u, 4, x.unit[u] = TermPair{high.unit[u], low.unit[u]});
  return x;
}
template <template <class> class Part, TwoTerms T>
WKVC_INLINE Part<TermOf<T>> high_terms(const Part<T>& x) {
  return Part<TermOf<T>>{{x.unit[0].high, x.unit[1].high, x.unit[2].high, x.unit[3].high}};
}
template <template <class> class Part, TwoTerms T>
WKVC_INLINE Part<TermOf<T>> low_terms(const Part<T>& x) {
  return Part<TermOf<T>>{{x.unit[0].low, x.unit[1].low, x.unit[2].low, x.unit[3].low}};
}

// Returns where the high terms of 8 columns of a row begin; the next function, where the low ones do.
template <class T>
WKVC_INLINE auto high_terms_at(T* block, int ld) {
  return [=](int row, int column) WKVC_INLINE_LAMBDA { return block + row * ld + column; };
}
template <class T>
WKVC_INLINE auto low_terms_at(T* block, int ld) {
  return high_terms_at(block + 4, ld);
}

// f32 and tf32: two neighbouring columns at a time, conflict free with rows padded by 8.
WKVC_INLINE int row_of(int element) { return layout::row_of_slot(layout::row_slot(element)); }
WKVC_INLINE int column_of(int element) { return layout::column_of_slot(layout::column_slot(element)); }

// Two neighbouring elements, from anywhere and to anywhere.
template <class T>
WKVC_INLINE void load_pair(const T* from, float* units) {
  const float2 pair = *reinterpret_cast<const float2*>(from);
  units[0] = pair.x;
  units[1] = pair.y;
}
template <class T>
WKVC_INLINE void store_pair(T* to, const float* units) {
  *reinterpret_cast<float2*>(to) = make_float2(units[0], units[1]);
}
template <class T>
WKVC_INLINE Fragment<T> load(const T* block, int ld) {
  Fragment<T> x;
  WKVC_FOR(n, layout::kElements / 2, load_pair(block + row_of(2 * n) * ld + column_of(2 * n), x.unit + 2 * n));
  return x;
}
template <class T>
WKVC_INLINE void store(T* block, int ld, const Fragment<T>& x) {
  WKVC_FOR(n, layout::kElements / 2, store_pair(block + row_of(2 * n) * ld + column_of(2 * n), x.unit + 2 * n));
}
template <class T>
WKVC_INLINE Fragment<T> load_transposed(const T* block, int ld) {
  Fragment<T> x;
  WKVC_FOR(e, layout::kElements, x.unit[e] = scalar::widen(block[column_of(e) * ld + row_of(e)]));
  return x;
}
template <class T>
WKVC_INLINE void store_transposed(T* block, int ld, const Fragment<T>& x) {
  WKVC_FOR(e, layout::kElements, block[column_of(e) * ld + row_of(e)] = T{x.unit[e]});
}

template <TwoTerms T>
WKVC_INLINE Fragment<T> load(const T* block, int ld) {
  return of_terms<T>(load_at<TermOf<T>>(high_terms_at(block, ld)), load_at<TermOf<T>>(low_terms_at(block, ld)));
}
template <TwoTerms T>
WKVC_INLINE Fragment<T> load_transposed(const T* block, int ld) {
  return of_terms<T>(load_transposed_at<TermOf<T>>(high_terms_at(block, ld)),
                     load_transposed_at<TermOf<T>>(low_terms_at(block, ld)));
}
template <TwoTerms T>
WKVC_INLINE void store(T* block, int ld, const Fragment<T>& x) {
  store_at(high_terms_at(block, ld), high_terms(x));
  store_at(low_terms_at(block, ld), low_terms(x));
}
template <TwoTerms T>
WKVC_INLINE void store_transposed(T* block, int ld, const Fragment<T>& x) {
  store_transposed_at(high_terms_at(block, ld), high_terms(x));
  store_transposed_at(low_terms_at(block, ld), low_terms(x));
}

template <class T>
WKVC_INLINE Columns<T> load_columns(const T* block, int ld) {
  return columns(load(block, ld));
}
template <class T>
WKVC_INLINE Columns<T> load_columns_transposed(const T* block, int ld) {
  return columns(load_transposed(block, ld));
}
template <TwoTerms T>
WKVC_INLINE Columns<T> load_columns(const T* block, int ld) {
  return of_terms<T>(load_columns_at<TermOf<T>>(high_terms_at(block, ld)),
                     load_columns_at<TermOf<T>>(low_terms_at(block, ld)));
}
template <TwoTerms T>
WKVC_INLINE Columns<T> load_columns_transposed(const T* block, int ld) {
  return of_terms<T>(load_columns_transposed_at<TermOf<T>>(high_terms_at(block, ld)),
                     load_columns_transposed_at<TermOf<T>>(low_terms_at(block, ld)));
}

template <class T>
WKVC_INLINE Fragment<T> transpose(const Fragment<T>& x) {
  return Fragment<T>{{ptx::transpose_8x8(x.unit[0]), ptx::transpose_8x8(x.unit[2]), ptx::transpose_8x8(x.unit[1]),
                      ptx::transpose_8x8(x.unit[3])}};
}

// An 8x8 matrix of f32, two columns a lane, goes through the 16-bit transpose in halves.
WKVC_INLINE void transpose_8x8(const float* x, float* y) {
  const u32 first = ptx::bits_of(x[0]), second = ptx::bits_of(x[1]);
  const u32 low = ptx::transpose_8x8(ptx::low_halves(first, second));
  const u32 high = ptx::transpose_8x8(ptx::high_halves(first, second));
  y[0] = ptx::float_of(ptx::low_halves(low, high));
  y[1] = ptx::float_of(ptx::high_halves(low, high));
}
template <class T>
WKVC_INLINE Fragment<T> transpose_in_halves(const Fragment<T>& x) {
  Fragment<T> y;
  transpose_8x8(x.unit + 0, y.unit + 0);
  transpose_8x8(x.unit + 4, y.unit + 2);
  transpose_8x8(x.unit + 2, y.unit + 4);
  transpose_8x8(x.unit + 6, y.unit + 6);
  return y;
}
WKVC_INLINE Fragment<f32> transpose(const Fragment<f32>& x) { return transpose_in_halves(x); }
WKVC_INLINE Fragment<tf32> transpose(const Fragment<tf32>& x) { return transpose_in_halves(x); }
template <TwoTerms T>
WKVC_INLINE Fragment<T> transpose(const Fragment<T>& x) {
  return of_terms<T>(transpose(high_terms(x)), transpose(low_terms(x)));
}

// Blocks of lower_f16x2 as they lie, as f16, and the converse.
WKVC_INLINE Fragment<f16> as_it_lies(const Fragment<lower_f16x2>& x) {
  return Fragment<f16>{{x.unit[0], x.unit[1], x.unit[2], x.unit[3]}};
}
WKVC_INLINE Fragment<lower_f16x2> as_folded(const Fragment<f16>& x) {
  return Fragment<lower_f16x2>{{x.unit[0], x.unit[1], x.unit[2], x.unit[3]}};
}

// The bits of a lane's two elements of an 8x8 matrix that lie below its diagonal, and of those on it, too.
WKVC_INLINE u32 bits_below_diagonal() {
  const int row = ptx::lane() / 4, column = ptx::lane() % 4 * 2;
  return (row > column ? 0xffffu : 0u) | (row > column + 1 ? 0xffff0000u : 0u);
}
WKVC_INLINE u32 bits_up_to_diagonal() {
  const int row = ptx::lane() / 4, column = ptx::lane() % 4 * 2;
  return (row >= column ? 0xffffu : 0u) | (row >= column + 1 ? 0xffff0000u : 0u);
}

// A block on the diagonal of a matrix of lower_f16x2 from its terms, and the terms from the block and its transpose;
// those of the transposed matrix, the same way. A block's quarters are its units: two on the diagonal, one below, one
// behind.
WKVC_INLINE Fragment<f16> fold_terms(const Fragment<f16x2>& x) {
  const u32 high = bits_up_to_diagonal();
  const auto on_diagonal = [&](int u) WKVC_INLINE_LAMBDA {
    return (x.unit[u].high & high) | (ptx::transpose_8x8(x.unit[u].low) & ~high);
  };
  return Fragment<f16>{{on_diagonal(0), x.unit[1].high, ptx::transpose_8x8(x.unit[1].low), on_diagonal(3)}};
}
WKVC_INLINE Fragment<f16x2> lower_terms(const Fragment<f16>& x, const Fragment<f16>& transposed) {
  const u32 high = bits_up_to_diagonal(), low = bits_below_diagonal();
  return Fragment<f16x2>{{{x.unit[0] & high, transposed.unit[0] & low},
                          {x.unit[1], transposed.unit[1]},
                          {0, 0},
                          {x.unit[3] & high, transposed.unit[3] & low}}};
}
WKVC_INLINE Fragment<f16x2> upper_terms(const Fragment<f16>& x, const Fragment<f16>& transposed) {
  const u32 high = ~bits_below_diagonal(), low = ~bits_up_to_diagonal();
  return Fragment<f16x2>{{{transposed.unit[0] & high, x.unit[0] & low},
                          {0, 0},
                          {transposed.unit[2], x.unit[2]},
                          {transposed.unit[3] & high, x.unit[3] & low}}};
}

}  // namespace fragment
}  // namespace wkvc
