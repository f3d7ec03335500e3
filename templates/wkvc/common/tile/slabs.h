// Shared tiles with one scale per slab of 16 rows or columns: the warps that make the slabs know only their own maxima,
// and one scale for all would cost them a barrier. A slab is a ScaledShared, so it is stored and loaded like one; a
// contraction over the slabs changes scales from one step of 16 to the next.
#pragma once

#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

// One scale per 16 columns, C / 16 in all.
template <class T, int R, int C, int LD = kStride<T, R, C>>
struct ColumnSlabs {
  Shared<T, R, C, LD> view;
  float* scales;

  // The slab from column `first` on.
  template <int N>
  WKVC_INLINE ScaledShared<T, R, N, LD> cols(int first) const {
    static_assert(N == 16, "a slab has 16 columns");
    return {view.template cols<N>(first), scales + first / 16};
  }
  template <int N>
  WKVC_INLINE ColumnSlabs<T, N, C, LD> rows(int first) const {
    return {view.template rows<N>(first), scales};
  }
};

// One scale per 16 rows, R / 16 in all.
template <class T, int R, int C, int LD = kStride<T, R, C>>
struct RowSlabs {
  Shared<T, R, C, LD> view;
  float* scales;

  template <int N>
  WKVC_INLINE RowSlabs<T, R, N, LD> cols(int first) const {
    return {view.template cols<N>(first), scales};
  }
  // The slab from row `first` on.
  template <int N>
  WKVC_INLINE ScaledShared<T, N, C, LD> rows(int first) const {
    static_assert(N == 16, "a slab has 16 rows");
    return {view.template rows<N>(first), scales + first / 16};
  }
};

// An operand with one scale per 16 columns.
template <class X>
struct SlabScaled {
  X data;
  const float* scales;
};

template <class T, int R, int C, int LD>
WKVC_INLINE SlabScaled<Transposed<Shared<T, R, C, LD>>> trans(const RowSlabs<T, R, C, LD>& x) {
  return {trans(x.view), x.scales};
}

}  // namespace wkvc
