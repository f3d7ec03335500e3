// Neighbouring elements of a row, as wide as they may be moved.
#pragma once

#include "wkvc/cuda/layout.h"
#include "wkvc/cuda/scalar.h"

namespace wkvc::memory {

// Both lie in shared memory, which is aligned.
WKVC_INLINE void load_adjacent(const float* from, float (&x)[2]) {
  const float2 pair = *reinterpret_cast<const float2*>(from);
  x[0] = pair.x;
  x[1] = pair.y;
}
template <class T>
WKVC_INLINE void load_adjacent(const T* from, float (&x)[2]) {
  unpack(*reinterpret_cast<const u32*>(from), x, T{});
}

// Global memory: kAdjacent elements, in one access where `aligned`.
WKVC_INLINE void load_adjacent(const float* from, float* x, bool aligned) {
  if (aligned) {
    const float2 pair = *reinterpret_cast<const float2*>(from);
    x[0] = pair.x;
    x[1] = pair.y;
  } else {
    x[0] = from[0];
    x[1] = from[1];
  }
}

WKVC_INLINE void store_pair(float* to, const float* x) { *reinterpret_cast<float2*>(to) = make_float2(x[0], x[1]); }
template <class T>
WKVC_INLINE void store_pair(T* to, const float* x) {
  *reinterpret_cast<u32*>(to) = pack(x, T{});
}
template <class T>
WKVC_INLINE void store_adjacent(T* to, const float* x, bool aligned) {
  if (aligned) {
    store_pair(to, x);
  } else {
    to[0] = scalar::round<T>(x[0]);
    to[1] = scalar::round<T>(x[1]);
  }
}

}  // namespace wkvc::memory
