// Pieces of 16 bytes from global to shared memory. A null source means zeros.
#pragma once

#include "wkvc/cuda/layout.h"
#include "wkvc/cuda/ptx.h"

namespace wkvc {

namespace copy {

template <class T>
WKVC_INLINE void piece(T* to, const T* from) {
  if (from != nullptr) {
    ptx::cp_async_16(to, from);
  } else {
    *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);  // visible after the next barrier
  }
}

// Without alignment there is no cp.async.
template <class T>
WKVC_INLINE void piece_elementwise(T* to, const T* from) {
  WKVC_UNROLL
  for (int i = 0; i < 16 / static_cast<int>(sizeof(T)); ++i) to[i] = from != nullptr ? from[i] : T{};
}

WKVC_INLINE void load_piece(const float* from, float (&x)[4]) {
  const float4 y = *reinterpret_cast<const float4*>(from);
  x[0] = y.x;
  x[1] = y.y;
  x[2] = y.z;
  x[3] = y.w;
}
template <class T>
WKVC_INLINE void load_piece(const T* from, float (&x)[8]) {
  const uint4 y = *reinterpret_cast<const uint4*>(from);
  unpack(y.x, x + 0, T{});
  unpack(y.y, x + 2, T{});
  unpack(y.z, x + 4, T{});
  unpack(y.w, x + 6, T{});
}

}  // namespace copy

// The copies since the last commit become one group of this warp; wait until at most `Pending` groups are under way.
WKVC_INLINE void commit_copies() { ptx::cp_async_commit(); }
template <int Pending>
WKVC_INLINE void wait_copies() {
  ptx::cp_async_wait<Pending>();
}

}  // namespace wkvc
