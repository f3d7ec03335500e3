// Neighbouring elements of a row.
#pragma once

#include "wkvc/host/layout.h"
#include "wkvc/host/scalar.h"

namespace wkvc::memory {

template <class T>
void load_adjacent(const T* from, float (&x)[2]) {
  x[0] = scalar::widen(from[0]);
  x[1] = scalar::widen(from[1]);
}

// Global memory: kAdjacent elements, which is one here.
template <class T>
void load_adjacent(const T* from, float* x, bool) {
  *x = scalar::widen(*from);
}
template <class T>
void store_adjacent(T* to, const T* units, bool) {
  *to = *units;
}

}  // namespace wkvc::memory
