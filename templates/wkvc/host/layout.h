// One thread holds a whole 16x16 block, row after row.
#pragma once

#include "wkvc/common/dtype.h"
#include "wkvc/host/scalar.h"
#include "wkvc/host/unroll.h"

namespace wkvc {

namespace layout {

inline constexpr int kElements = 256;
inline constexpr int kRowSlots = 16;
inline constexpr int kColumnSlots = 16;
inline constexpr int kRowGroups = 1;  // row = slot * kRowGroups + group

constexpr int row_slot(int element) { return element / 16; }
constexpr int column_slot(int element) { return element % 16; }
constexpr int element(int row_slot, int column_slot) { return 16 * row_slot + column_slot; }
constexpr int row_of_slot(int slot) { return slot; }
constexpr int column_of_slot(int slot) { return slot; }

}  // namespace layout

template <class T>
struct Unit {
  using type = T;
  static constexpr int elements = 1;
};

template <class T>
T pack(const float* x, T) {
  return scalar::round<T>(x[0]);
}
// A power of two times the element, rounded.
template <class T>
T multiply(T unit, float power, T) {
  return scalar::round<T>(scalar::widen(unit) * scalar::widen(scalar::round<T>(power)));
}
// The sum with the element times zero: a finite one does not change it, any other makes it NaN.
template <class T>
T plus_nothing(T sum, T unit, T) {
  return scalar::round<T>(scalar::widen(unit) * 0.f + scalar::widen(sum));
}
template <class T>
bool is_nan(T sum, T) {
  return std::isnan(scalar::widen(sum));
}
template <class T>
void unpack(T unit, float* x, T) {
  x[0] = scalar::widen(unit);
}

}  // namespace wkvc
