// Pieces of 16 bytes from global to shared memory. A null source means zeros.
#pragma once

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
  constexpr int kStep = 32 * 16 / static_cast<int>(sizeof(T));
  const int own = ptx::lane() * 16 / static_cast<int>(sizeof(T));
  WKVC_UNROLL
  for (int i = own; i < 256; i += kStep) ptx::cp_async_16(to + i, from + i, 16);
}

// Without alignment there is no cp.async.
template <class T>
WKVC_INLINE void piece_elementwise(T* to, const T* from) {
  WKVC_UNROLL
  for (int i = 0; i < 16 / static_cast<int>(sizeof(T)); ++i) to[i] = from != nullptr ? from[i] : T{};
}

// The largest |x| of pieces.
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

// Without their signs, 16-bit floats are ordered like integers, two to a register.
template <class T>
class Largest {
 public:
  WKVC_INLINE void add(const T* piece) {
    const uint4 x = *reinterpret_cast<const uint4*>(piece);
    constexpr u32 kNoSigns = 0x7fff7fffu;
    largest_ = ptx::max_halves(largest_, ptx::max_halves(ptx::max_halves(x.x & kNoSigns, x.y & kNoSigns),
                                                         ptx::max_halves(x.z & kNoSigns, x.w & kNoSigns)));
  }
  WKVC_INLINE float value() const {
    const u32 high = largest_ >> 16, low = largest_ & 0xffffu;
    T largest;
    largest.bits = static_cast<decltype(largest.bits)>(high > low ? high : low);
    return scalar::widen(largest);
  }

 private:
  u32 largest_ = 0;
};

}  // namespace copy

// The copies since the last commit become one group of this warp; wait until at most `Pending` groups are under way.
WKVC_INLINE void commit_copies() { ptx::cp_async_commit(); }
template <int Pending>
WKVC_INLINE void wait_copies() {
  ptx::cp_async_wait<Pending>();
}

}  // namespace wkvc
