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

// Global memory: the elements of kAdjacent columns, in one access where `aligned`.
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
template <class T>
WKVC_INLINE void load_adjacent(const T* from, float* x, bool aligned) {
  if (aligned) {
    unpack(*reinterpret_cast<const u32*>(from), x, T{});
  } else {
    x[0] = scalar::widen(from[0]);
    x[1] = scalar::widen(from[1]);
  }
}

WKVC_INLINE void store_adjacent(float* to, const float* units, bool aligned) {
  if (aligned) {
    *reinterpret_cast<float2*>(to) = make_float2(units[0], units[1]);
  } else {
    to[0] = units[0];
    to[1] = units[1];
  }
}
template <class T>
WKVC_INLINE void store_adjacent(T* to, const u32* units, bool aligned) {
  if (aligned) {
    *reinterpret_cast<u32*>(to) = *units;
  } else {
    to[0].bits = static_cast<unsigned short>(*units);
    to[1].bits = static_cast<unsigned short>(*units >> 16);
  }
}

}  // namespace wkvc::memory
