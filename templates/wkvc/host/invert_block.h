// (I - X)^-1 of one 16x16 block, X strictly lower triangular, by substitution.
#pragma once

#include "wkvc/host/fragment.h"

namespace wkvc {

inline Fragment<f32> invert_block(const Fragment<f32>& x) {
  Fragment<f32> inverse{};
  for (int i = 0; i < 16; ++i) {
    inverse.unit[17 * i] = 1.f;
    for (int k = 0; k < i; ++k) {
      for (int j = 0; j < i; ++j) inverse.unit[16 * i + j] += x.unit[16 * i + k] * inverse.unit[16 * k + j];
    }
  }
  return inverse;
}

}  // namespace wkvc
