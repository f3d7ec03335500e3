// One 16x16 block of a register tile, and its ways to and from shared memory: of f32 with `ld` elements from row to
// row, others from wherever they lie.
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

inline auto in_rows(float* block, int ld) {
  return [=](int row, int column) { return block + row * ld + column; };
}
inline auto in_rows(const float* block, int ld) {
  return [=](int row, int column) { return block + row * ld + column; };
}
inline Fragment<f32> load(const float* block, int ld) { return load_at<f32>(in_rows(block, ld)); }
inline Fragment<f32> load_transposed(const float* block, int ld) { return transpose(load(block, ld)); }
inline void store(float* block, int ld, const Fragment<f32>& x) { store_at<f32>(in_rows(block, ld), x); }
inline void store_transposed(float* block, int ld, const Fragment<f32>& x) { store(block, ld, transpose(x)); }

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

}  // namespace fragment
}  // namespace wkvc
