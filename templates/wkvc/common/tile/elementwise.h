// Arithmetic on f32 tiles and vectors. The other operand may be of the same shape, a number, or, for a tile, a RowVec
// (repeated in every row) or a ColVec (repeated in every column).
#pragma once

#include "wkvc/common/tile/register_tile.h"

namespace wkvc {

// The bodies of functions of a tile x, whose element is x.block[i][j].unit[e], and of a vector x, with x.v[i][s].
#define WKVC_MAP_TILE(value)                                \
  Tile<f32, R, C, L> z;                                     \
  WKVC_EACH_ELEMENT(R, C, z.block[i][j].unit[e] = (value)); \
  return z
#define WKVC_MAP_VECTOR(value)                  \
  Vector<Axis, N> z;                            \
  WKVC_EACH_SLOT(Axis, N, z.v[i][s] = (value)); \
  return z

// One operator for a tile x and a y, of the last argument's type, on either side of it. What y has beside element
// (i, j, e) of x is `b`.
#define WKVC_BESIDE_TILE(op, b, ...)                                                              \
  template <int R, int C, class L>                                                                \
  WKVC_INLINE Tile<f32, R, C, L> operator op(const Tile<f32, R, C, L>& x, const __VA_ARGS__& y) { \
    WKVC_MAP_TILE(x.block[i][j].unit[e] op(b));                                                   \
  }                                                                                               \
  template <int R, int C, class L>                                                                \
  WKVC_INLINE Tile<f32, R, C, L> operator op(const __VA_ARGS__& y, const Tile<f32, R, C, L>& x) { \
    WKVC_MAP_TILE((b)op x.block[i][j].unit[e]);                                                   \
  }

#define WKVC_ELEMENTWISE(op)                                                                             \
  template <int R, int C, class L>                                                                       \
  WKVC_INLINE Tile<f32, R, C, L> operator op(const Tile<f32, R, C, L>& x, const Tile<f32, R, C, L>& y) { \
    WKVC_MAP_TILE(x.block[i][j].unit[e] op y.block[i][j].unit[e]);                                       \
  }                                                                                                      \
  WKVC_BESIDE_TILE(op, y, float)                                                                         \
  WKVC_BESIDE_TILE(op, L::template beside_row<C>(y, i, j, e), RowOf<L, C>)                               \
  WKVC_BESIDE_TILE(op, L::template beside_column<C>(y, i, j, e), ColumnOf<L, R, C>)                      \
  template <class Axis, int N>                                                                           \
  WKVC_INLINE Vector<Axis, N> operator op(const Vector<Axis, N>& x, const Vector<Axis, N>& y) {          \
    WKVC_MAP_VECTOR(x.v[i][s] op y.v[i][s]);                                                             \
  }                                                                                                      \
  template <class Axis, int N>                                                                           \
  WKVC_INLINE Vector<Axis, N> operator op(const Vector<Axis, N>& x, float y) {                           \
    WKVC_MAP_VECTOR(x.v[i][s] op y);                                                                     \
  }                                                                                                      \
  template <class Axis, int N>                                                                           \
  WKVC_INLINE Vector<Axis, N> operator op(float y, const Vector<Axis, N>& x) {                           \
    WKVC_MAP_VECTOR(y op x.v[i][s]);                                                                     \
  }
WKVC_ELEMENTWISE(+)
WKVC_ELEMENTWISE(-)
WKVC_ELEMENTWISE(*)
#undef WKVC_ELEMENTWISE
#undef WKVC_BESIDE_TILE

template <int R, int C, class L>
WKVC_INLINE Tile<f32, R, C, L> operator-(const Tile<f32, R, C, L>& x) {
  WKVC_MAP_TILE(-x.block[i][j].unit[e]);
}
template <class Axis, int N>
WKVC_INLINE Vector<Axis, N> operator-(const Vector<Axis, N>& x) {
  WKVC_MAP_VECTOR(-x.v[i][s]);
}

}  // namespace wkvc
