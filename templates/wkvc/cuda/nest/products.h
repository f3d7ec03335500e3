// Products of warp groups, issued and awaited apart. Between what warps did with the registers of a product before, and
// what they do with them after it, the compiler is to keep each where it is.
#pragma once

#include "wkvc/common/nest/swizzled.h"
#include "wkvc/cuda/nest/ptx.h"

namespace wkvc {

namespace products {

template <int N>
WKVC_INLINE void keep(Tile<f32, 16, N>& sums) {
  WKVC_EACH_ELEMENT(16, N, ptx::stay_here(sums.block[i][j].unit[e]));
}

// A matrix descriptor with the 128-byte swizzle (PTX ISA, "Matrix Descriptor Format"): eights of rows are 1024 bytes
// apart, panels of what is not contracted `across` bytes.
WKVC_INLINE u64 descriptor(const void* at, int across) {
  constexpr u64 kEights = 1024 / 16, kSwizzled = 1;
  const u32 address = ptx::shared_address(at) & 0x3ffffu;
  return static_cast<u64>(address / 16) | static_cast<u64>(across / 16) << 16 | kEights << 32 | kSwizzled << 62;
}

// Step k of a contraction, over 16 elements, for an operand whose rows are not contracted, and for one whose are.
template <class T, int R, int C>
WKVC_INLINE u64 step(const Swizzled<T, R, C>& x, int k) {
  constexpr int kSteps = kPanel<T> / 16, kBytes = 16 * static_cast<int>(sizeof(T));
  return descriptor(x.data, 16) + static_cast<u64>((k / kSteps * R * 128 + k % kSteps * kBytes) / 16);
}
template <class T, int R, int C>
WKVC_INLINE u64 step(const Transposed<Swizzled<T, R, C>>& x, int k) {
  return descriptor(x.view.data, R * 128) + static_cast<u64>(k * 16 * 128 / 16);
}

template <class View>
inline constexpr int kAcross = 0;
template <class View>
inline constexpr int kAcross<Transposed<View>> = 1;

template <class T, int K>
WKVC_INLINE const u32 (&operand(const Tile<T, 16, K>& x, int k))[4] {
  return x.block[0][k].unit;
}
template <class T, int R, int C>
WKVC_INLINE u64 operand(const Swizzled<T, R, C>& x, int k) {
  return step(x, k);
}

template <bool Adds, int N, class X, class Y>
WKVC_INLINE void start(Tile<f32, 16, N>& sums, const X& x, const Y& y) {
  using T = typename X::Element;
  if constexpr (Adds) keep(sums);
  ptx::wgmma_fence();
  const auto one = [&]<int k>(Numbers<k>) WKVC_INLINE_LAMBDA {
    ptx::product<N, Adds || (k > 0), kAcross<Y>>(sums.block[0], operand(x, k), step(y, k), T{});
  };
  const auto all = [&]<int... k>(Numbers<k...>) WKVC_INLINE_LAMBDA { (one(Numbers<k>{}), ...); };
  all(typename FirstNumbers<X::kColumns / 16>::type{});
  ptx::wgmma_commit();
}

}  // namespace products

// Starts sums = x · yᵀ, or sums += x · yᵀ, where x is a tile of registers or of shared memory, 16 rows of a warp.
template <int N, class X, class Y>
WKVC_INLINE void issue(const Role&, Tile<f32, 16, N>& sums, const X& x, const Y& y) {
  products::start<false>(sums, x, y);
}
template <int N, class X, class Y>
WKVC_INLINE void issue_added(const Role&, Tile<f32, 16, N>& sums, const X& x, const Y& y) {
  products::start<true>(sums, x, y);
}

// Waits until all products under way are there, whose sums these are.
template <class... Sums>
WKVC_INLINE void await_products(Sums&... sums) {
  ptx::wgmma_wait();
  (products::keep(sums), ...);
}

}  // namespace wkvc
