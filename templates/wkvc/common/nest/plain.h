// Rows of numbers in shared memory, one behind the other.
#pragma once

#include "wkvc/common/nest/role.h"
#include "wkvc/common/tile/shared_tile.h"

namespace wkvc {

template <class T, int R, int C>
struct Plain {
  using Element = T;
  static constexpr int bytes = R * C * static_cast<int>(sizeof(T));

  T* data;

  WKVC_INLINE T* row(int n) const { return data + n * C; }
};

// Stores vectors that all warps of a role have, each as a row; the first warp does.
template <int R, int C, class... Vectors>
WKVC_INLINE void store_rows(const Role& role, const Plain<f32, R, C>& to, const Vectors&... rows) {
  static_assert(sizeof...(Vectors) == R, "a row of each vector");
  if (role.warp != 0) return;
  int n = 0;
  (store_row(to.row(n++), rows), ...);
}

}  // namespace wkvc
