// Elementary functions of f32 tiles and vectors. Finite for every finite argument whose result is representable.
#pragma once

#include "wkvc/common/tile/elementwise.h"

namespace wkvc {

namespace scalar {

// exp(-x) may overflow to infinity, whose reciprocal is the right answer. tanh.approx would be shorter, but loses the
// digits that an argument near -4 leaves.
WKVC_INLINE float sigmoid(float x) { return reciprocal(1.f + exp(-x)); }
WKVC_INLINE float softplus(float x) { return max(x, 0.f) + log1p(exp(-abs(x))); }
WKVC_INLINE float relu(float x) { return max_or_nan(x, 0.f); }
WKVC_INLINE float maximum(float x, float bound) { return max_or_nan(x, bound); }
// For a row that decays are anchored at, which may be any: NaN stays in the rows that come after it.
WKVC_INLINE float zero_if_nan(float x) { return x == x ? x : 0.f; }

// The derivative of relu and of maximum.
WKVC_INLINE float greater_than(float x, float bound) { return x > bound ? 1.f : 0.f; }
// NaN where x is below the bound: a guard sees it.
WKVC_INLINE float not_below(float x, float bound) { return x >= bound ? x : float_of(0x7fc00000u); }

}  // namespace scalar

#define WKVC_UNARY(name)                                             \
  template <int R, int C, class L>                                   \
  WKVC_INLINE Tile<f32, R, C, L> name(const Tile<f32, R, C, L>& x) { \
    WKVC_MAP_TILE(scalar::name(x.block[i][j].unit[e]));              \
  }                                                                  \
  template <class Axis, int N>                                       \
  WKVC_INLINE Vector<Axis, N> name(const Vector<Axis, N>& x) {       \
    WKVC_MAP_VECTOR(scalar::name(x.v[i][s]));                        \
  }
WKVC_UNARY(exp)
WKVC_UNARY(exp2)
WKVC_UNARY(log)
WKVC_UNARY(sigmoid)
WKVC_UNARY(tanh)
WKVC_UNARY(softplus)
WKVC_UNARY(relu)
WKVC_UNARY(zero_if_nan)
WKVC_UNARY(sqrt)
WKVC_UNARY(reciprocal)
#undef WKVC_UNARY

#define WKVC_BOUNDED(name)                                                        \
  template <int R, int C, class L>                                                \
  WKVC_INLINE Tile<f32, R, C, L> name(const Tile<f32, R, C, L>& x, float bound) { \
    WKVC_MAP_TILE(scalar::name(x.block[i][j].unit[e], bound));                    \
  }                                                                               \
  template <class Axis, int N>                                                    \
  WKVC_INLINE Vector<Axis, N> name(const Vector<Axis, N>& x, float bound) {       \
    WKVC_MAP_VECTOR(scalar::name(x.v[i][s], bound));                              \
  }
WKVC_BOUNDED(maximum)
WKVC_BOUNDED(greater_than)
WKVC_BOUNDED(not_below)
#undef WKVC_BOUNDED
#undef WKVC_MAP_TILE
#undef WKVC_MAP_VECTOR

}  // namespace wkvc
