// Pieces of 16 bytes from global to shared memory. A null source means zeros.
#pragma once

#include "wkvc/cuda/fragment.h"
#include "wkvc/cuda/layout.h"
#include "wkvc/cuda/ptx.h"
#include "wkvc/cuda/scalar.h"

namespace wkvc {

namespace copy {

// Zeros unless `present`; then `from` is not read.
template <class T>
WKVC_INLINE void piece(T* to, const T* from, bool present) {
  ptx::cp_async_16(to, from, present ? 16 : 0);
}

// A 16x16 block in the order of registers, each lane the bytes it will load.
template <class T>
WKVC_INLINE void block(T* to, const T* from) {
  constexpr int kPiece = 16 / static_cast<int>(sizeof(T));  // elements
  const int own = kPiece * ptx::lane();
  WKVC_FOR(i, 256 / (32 * kPiece), ptx::cp_async_16(to + own + 32 * kPiece * i, from + own + 32 * kPiece * i, 16));
}

// Without alignment there is no cp.async.
WKVC_INLINE void piece_elementwise(u16* to, const u16* from) {
  WKVC_UNROLL
  for (int i = 0; i < 8; ++i) to[i] = from != nullptr ? from[i] : u16{};
}

// The largest |x| of pieces, or of operands.
template <class T>
class Largest;

template <>
class Largest<float> {
 public:
  WKVC_INLINE void add(const float* piece) {
    const float4 x = *reinterpret_cast<const float4*>(piece);
    largest_ = fmaxf(fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w))), largest_);
  }
  WKVC_INLINE float value() const { return largest_; }

 private:
  float largest_ = 0.f;
};

// Two to a register.
template <class T>
class Largest {
 public:
  WKVC_INLINE void add(const T* piece) {
    const uint4 x = *reinterpret_cast<const uint4*>(piece);
    add(x.x, x.y, x.z, x.w);
  }
  WKVC_INLINE void add(const Fragment<T>& x) { add(x.unit[0], x.unit[1], x.unit[2], x.unit[3]); }
  WKVC_INLINE float value() const {
    float pair[2];
    unpack(largest_, pair, T{});
    return fmaxf(fabsf(pair[0]), fabsf(pair[1]));
  }

 private:
  WKVC_INLINE void add(u32 a, u32 b, u32 c, u32 d) { largest_ = larger(largest_, larger(larger(a, b), larger(c, d))); }
  static WKVC_INLINE u32 larger(u32 x, u32 y) { return ptx::larger_magnitudes(x, y, T{}); }

  u32 largest_ = 0;  // so that a NaN beside nothing else does not count, either
};

}  // namespace copy

// The copies since the last commit become one group of this warp; wait until at most `Pending` groups are under way.
WKVC_INLINE void commit_copies() { ptx::cp_async_commit(); }
template <int Pending>
WKVC_INLINE void wait_copies() {
  ptx::cp_async_wait<Pending>();
}

}  // namespace wkvc
