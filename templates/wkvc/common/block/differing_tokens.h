// How much larger one token's elements are than another's.
#pragma once

#include "wkvc/common/target.h"

namespace wkvc {

// The largest element of a token may be so many times as large as that of another token of the tensor's chunk.
inline constexpr float kMostSpread = 0x1p8f;

// Returns whether the largest element of a token is more than `most_spread` times that of another token. Tokens are
// `stride` elements apart. Tokens of zeros and elements that are not finite do not count. Out of line: few tokens
// differ so much.
template <class T>
WKVC_OUTLINE bool tokens_differ(const T* data, int tokens, int columns, long long stride, float most_spread) {
  float most = 0.f, least = 0x1p127f;
  for (int token = 0; token < tokens; ++token) {
    float largest = 0.f;
    lanes::for_each([&](int lane) {
      for (int column = lane; column < columns; column += 32)
        largest = scalar::max(largest, scalar::finite_abs(scalar::widen(data[token * stride + column])));
    });
    largest = lanes::max_non_negative(largest);
    if (largest > 0.f) {
      most = scalar::max(most, largest);
      least = scalar::min(least, largest);
    }
  }
  return most > least * most_spread;
}

}  // namespace wkvc
