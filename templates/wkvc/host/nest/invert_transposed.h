// The inverse of I + L of one 16x16 block, transposed.
#pragma once

#include "wkvc/host/invert_block.h"

namespace wkvc {

inline constexpr int kInvertFloats = 320;

inline Fragment<f16> invert_transposed(const Fragment<f32>& L, float* scratch) {
  Fragment<f32> negative;
  for (int e = 0; e < 256; ++e) negative.unit[e] = -L.unit[e];
  const Fragment<f32> inverse = fragment::transpose(invert_block<f16>(negative, scratch));
  Fragment<f16> rounded;
  for (int e = 0; e < 256; ++e) rounded.unit[e] = scalar::round<f16>(inverse.unit[e]);
  return rounded;
}

}  // namespace wkvc
