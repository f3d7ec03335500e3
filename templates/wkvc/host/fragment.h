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
