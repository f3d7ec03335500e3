// A state and the row that it is still to be multiplied by: the next chunk's own row comes to it, so that a state takes
// one multiplication on its way from chunk to chunk, where rows are there before it is.
#pragma once

#include "wkvc/common/tile/elementwise.h"

namespace wkvc {

template <int R, int C>
struct Decaying {
  Tile<f32, R, C> x;
  RowVec<C> row;
};

template <int R, int C>
WKVC_INLINE Decaying<R, C> decaying(const Tile<f32, R, C>& x, const RowVec<C>& row) {
  return {x, row};
}
// By nothing.
template <int R, int C>
WKVC_INLINE Decaying<R, C> decaying(const Tile<f32, R, C>& x) {
  Decaying<R, C> state{x, {}};
  WKVC_EACH_SLOT(PerColumn, C, state.row.v[i][s] = 1.f);
  return state;
}

template <int R, int C>
WKVC_INLINE Tile<f32, R, C> operator*(const Decaying<R, C>& state, const RowVec<C>& row) {
  return state.x * (state.row * row);
}
template <int R, int C>
WKVC_INLINE Tile<f32, R, C> settled(const Decaying<R, C>& state) {
  return state.x * state.row;
}

}  // namespace wkvc
