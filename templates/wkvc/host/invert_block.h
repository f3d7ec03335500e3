// (I - X)^-1 of one 16x16 block, X lower triangular, by substitution, without scratch. X has to be strictly so; the
// division makes a diagonal that should not be there show in the result. `Mode` is the cuda target's.
#pragma once

#include "wkvc/host/fragment.h"

namespace wkvc {

template <class Mode>
Fragment<f32> invert_block(const Fragment<f32>& x, float*) {
  Fragment<f32> inverse{};
  for (int i = 0; i < 16; ++i) {
    inverse.unit[17 * i] = 1.f;
    for (int k = 0; k < i; ++k) {
      for (int j = 0; j < i; ++j) inverse.unit[16 * i + j] += x.unit[16 * i + k] * inverse.unit[16 * k + j];
    }
    for (int j = 0; j <= i; ++j) inverse.unit[16 * i + j] /= 1.f - x.unit[17 * i];
  }
  return inverse;
}

}  // namespace wkvc
