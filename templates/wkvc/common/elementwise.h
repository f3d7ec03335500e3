// Arithmetic on f32 tiles and vectors. The other operand may be of the same shape, a number, or, for a tile, a RowVec
// (repeated in every row) or a ColVec (repeated in every column).
#pragma once

#include "wkvc/common/register_tile.h"

namespace wkvc {

// The value of an operand beside element e of block (i, j).
template <int R, int C>
WKVC_INLINE float operand_at(const Tile<f32, R, C>& x, int i, int j, int e) {
  return x.block[i][j].unit[e];
}
template <int C>
WKVC_INLINE float operand_at(const RowVec<C>& x, int, int j, int e) {
  return x.v[j][PerColumn::slot(e)];
}
template <int R>
WKVC_INLINE float operand_at(const ColVec<R>& x, int i, int, int e) {
  return x.v[i][PerRow::slot(e)];
}
WKVC_INLINE float operand_at(float x, int, int, int) { return x; }

template <class Axis, int N>
WKVC_INLINE float operand_at(const Vector<Axis, N>& x, int i, int s) {
  return x.v[i][s];
}
WKVC_INLINE float operand_at(float x, int, int) { return x; }

template <int R, int C, class Y, class F>
WKVC_INLINE Tile<f32, R, C> zip(const Tile<f32, R, C>& x, const Y& y, F f) {
  Tile<f32, R, C> z;
  for_each_element<R, C>(
      [&](int i, int j, int e) { z.block[i][j].unit[e] = f(x.block[i][j].unit[e], operand_at(y, i, j, e)); });
  return z;
}
template <class Axis, int N, class Y, class F>
WKVC_INLINE Vector<Axis, N> zip(const Vector<Axis, N>& x, const Y& y, F f) {
  Vector<Axis, N> z;
  for_each_slot<Axis, N>([&](int i, int s) { z.v[i][s] = f(x.v[i][s], operand_at(y, i, s)); });
  return z;
}

template <int R, int C, class F>
WKVC_INLINE Tile<f32, R, C> map(const Tile<f32, R, C>& x, F f) {
  return zip(x, 0.f, [&](float a, float) { return f(a); });
}
template <class Axis, int N, class F>
WKVC_INLINE Vector<Axis, N> map(const Vector<Axis, N>& x, F f) {
  return zip(x, 0.f, [&](float a, float) { return f(a); });
}

// One operator: a tile or a vector on the left, then a number or a vector on the left of those.
#define WKVC_ELEMENTWISE(op)                                                                    \
  template <int R, int C, class Y>                                                              \
  WKVC_INLINE Tile<f32, R, C> operator op(const Tile<f32, R, C>& x, const Y& y) {               \
    return zip(x, y, [](float a, float b) { return a op b; });                                  \
  }                                                                                             \
  template <class Axis, int N>                                                                  \
  WKVC_INLINE Vector<Axis, N> operator op(const Vector<Axis, N>& x, const Vector<Axis, N>& y) { \
    return zip(x, y, [](float a, float b) { return a op b; });                                  \
  }                                                                                             \
  template <class Axis, int N>                                                                  \
  WKVC_INLINE Vector<Axis, N> operator op(const Vector<Axis, N>& x, float y) {                  \
    return zip(x, y, [](float a, float b) { return a op b; });                                  \
  }                                                                                             \
  template <int R, int C>                                                                       \
  WKVC_INLINE Tile<f32, R, C> operator op(float y, const Tile<f32, R, C>& x) {                  \
    return zip(x, y, [](float a, float b) { return b op a; });                                  \
  }                                                                                             \
  template <class Axis, int N>                                                                  \
  WKVC_INLINE Vector<Axis, N> operator op(float y, const Vector<Axis, N>& x) {                  \
    return zip(x, y, [](float a, float b) { return b op a; });                                  \
  }                                                                                             \
  template <class Axis, int N, int R, int C>                                                    \
  WKVC_INLINE Tile<f32, R, C> operator op(const Vector<Axis, N>& y, const Tile<f32, R, C>& x) { \
    return zip(x, y, [](float a, float b) { return b op a; });                                  \
  }
WKVC_ELEMENTWISE(+)
WKVC_ELEMENTWISE(-)
WKVC_ELEMENTWISE(*)
#undef WKVC_ELEMENTWISE

template <int R, int C>
WKVC_INLINE Tile<f32, R, C> operator-(const Tile<f32, R, C>& x) {
  return map(x, [](float a) { return -a; });
}
template <class Axis, int N>
WKVC_INLINE Vector<Axis, N> operator-(const Vector<Axis, N>& x) {
  return map(x, [](float a) { return -a; });
}

}  // namespace wkvc
