// Substitution in f32 with I + L of one 16x16 block.
#pragma once

#include "wkvc/host/fragment.h"

namespace wkvc {

inline constexpr int kSubstitutionFloats = 320;

// Returns (I + L)^-1 · x, rounded.
inline Fragment<f16> divided(const Fragment<f32>& L, Fragment<f32> x) {
  for (int i = 1; i < 16; ++i)
    for (int k = 0; k < i; ++k)
      for (int j = 0; j < 16; ++j) x.unit[16 * i + j] -= L.unit[16 * i + k] * x.unit[16 * k + j];
  Fragment<f16> rounded;
  for (int e = 0; e < 256; ++e) rounded.unit[e] = scalar::round<f16>(x.unit[e]);
  return rounded;
}

// Makes (I + L)^-1 and (I + L)^-1 · block, of what L has below the diagonal.
inline void substitute(const Fragment<f32>& L, const Fragment<f32>& block, float* /*scratch*/, Fragment<f16>& inverse,
                       Fragment<f16>& product) {
  Fragment<f32> identity{};
  for (int i = 0; i < 16; ++i) identity.unit[17 * i] = 1.f;
  inverse = divided(L, identity);
  product = divided(L, block);
}

}  // namespace wkvc
