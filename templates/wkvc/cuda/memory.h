// Neighbouring elements of a row, and blocks in the order of registers, as wide as they may be moved.
#pragma once

#include "wkvc/cuda/fragment.h"
#include "wkvc/cuda/layout.h"
#include "wkvc/cuda/scalar.h"

namespace wkvc::memory {

// Both lie in shared memory, which is aligned.
WKVC_INLINE void load_adjacent(const float* from, float (&x)[2]) { fragment::load_pair(from, x); }

template <class T>
WKVC_INLINE T* behind(T* address, int count, int bytes) {
  return static_cast<T*>(ptx::behind(address, count, bytes));
}
WKVC_INLINE int kept(int x) { return ptx::kept(x); }
template <class T>
WKVC_INLINE T* kept_apart(T* address) {
  return static_cast<T*>(ptx::kept_apart(address));
}

// To and from rows in global memory a lane's elements of a row slot are moved in runs of neighbouring columns, one
// access for each where a tensor is aligned: which column of a block run n begins with, and which register.
template <class T>
inline constexpr int kRuns = 1;
template <>
inline constexpr int kRuns<f32> = 2;

template <class T>
WKVC_INLINE int run_column(int n) {
  return is_same<T, f32> ? layout::column_of_slot(2 * n) : ptx::lane() % 4 / 2 * 4 + ptx::lane() % 2 * 8;
}
template <class T>
WKVC_INLINE constexpr int run_unit(int s, int n) {
  return is_same<T, f32> ? layout::element(s, 2 * n) : 2 * s;
}

// The lanes 2n and 2n + 1 of a row have two columns each of its first half, and of its second. Each then has four of
// one half, so that a store fills sectors of 32 bytes, and half as many do.
template <class T>
WKVC_INLINE Fragment<T> in_runs(const Fragment<T>& x) {
  const bool odd = ptx::lane() % 2 == 1;
  Fragment<T> y;
  const auto exchange = [&](int s) WKVC_INLINE_LAMBDA {
    const u32 others = ptx::shuffle_xor(odd ? x.unit[s] : x.unit[2 + s], 1);
    y.unit[2 * s] = odd ? others : x.unit[s];
    y.unit[2 * s + 1] = odd ? x.unit[2 + s] : others;
  };
  WKVC_FOR(s, layout::kRowSlots, exchange(s));
  return y;
}
WKVC_INLINE Fragment<f32> in_runs(const Fragment<f32>& x) { return x; }

// The way back.
template <class T>
WKVC_INLINE Fragment<T> out_of_runs(const Fragment<T>& x) {
  const bool odd = ptx::lane() % 2 == 1;
  Fragment<T> y;
  const auto exchange = [&](int s) WKVC_INLINE_LAMBDA {
    const u32 others = ptx::shuffle_xor(odd ? x.unit[2 * s] : x.unit[2 * s + 1], 1);
    y.unit[s] = odd ? others : x.unit[2 * s];
    y.unit[2 + s] = odd ? x.unit[2 * s + 1] : others;
  };
  WKVC_FOR(s, layout::kRowSlots, exchange(s));
  return y;
}
WKVC_INLINE Fragment<f32> out_of_runs(const Fragment<f32>& x) { return x; }

// A register of two elements that lie side by side, at a multiple of 4 bytes, or not; or of one.
template <bool SideBySide>
WKVC_INLINE float load_unit(const f32* first, const f32*) {
  return *first;
}
template <bool SideBySide, class T>
WKVC_INLINE u32 load_unit(const T* first, const T* second) {
  if constexpr (SideBySide) return *reinterpret_cast<const u32*>(first);
  return first->bits | static_cast<u32>(second->bits) << 16;
}

WKVC_INLINE void load_run(const float* from, float* x, bool aligned) {
  if (aligned) {
    fragment::load_pair(from, x);
  } else {
    x[0] = from[0];
    x[1] = from[1];
  }
}
WKVC_INLINE void store_run(float* to, const float* units, bool aligned) {
  if (aligned) {
    fragment::store_pair(to, units);
  } else {
    to[0] = units[0];
    to[1] = units[1];
  }
}
template <class T>
WKVC_INLINE void load_run(const T* from, u32* units, bool aligned) {
  if (aligned) {
    const uint2 run = *reinterpret_cast<const uint2*>(from);
    units[0] = run.x;
    units[1] = run.y;
  } else {
    WKVC_FOR(n, 2, units[n] = from[2 * n].bits | static_cast<u32>(from[2 * n + 1].bits) << 16);
  }
}
template <class T>
WKVC_INLINE void store_run(T* to, const u32* units, bool aligned) {
  if (aligned) {
    *reinterpret_cast<uint2*>(to) = make_uint2(units[0], units[1]);
  } else {
    WKVC_FOR(n, 2, to[2 * n].bits = static_cast<u16>(units[n]), to[2 * n + 1].bits = static_cast<u16>(units[n] >> 16));
  }
}

WKVC_INLINE u32 bits_of(u32 unit) { return unit; }
WKVC_INLINE u32 bits_of(float unit) { return ptx::bits_of(unit); }
WKVC_INLINE void set_bits(u32& unit, u32 bits) { unit = bits; }
WKVC_INLINE void set_bits(float& unit, u32 bits) { unit = ptx::float_of(bits); }

// 16 bytes in four registers.
template <class Register>
WKVC_INLINE uint4 piece_of(const Register* units) {
  return make_uint4(bits_of(units[0]), bits_of(units[1]), bits_of(units[2]), bits_of(units[3]));
}
template <class Register>
WKVC_INLINE void set_piece(Register* units, uint4 piece) {
  set_bits(units[0], piece.x);
  set_bits(units[1], piece.y);
  set_bits(units[2], piece.z);
  set_bits(units[3], piece.w);
}

// The pieces of 16 bytes that a lane has of a block.
template <class T>
inline constexpr int kBlockPieces = layout::kElements / Unit<T>::elements / 4;

// A 16x16 block as the lanes hold it, 16 bytes a lane at a time: `at` is aligned to that.
template <class T>
WKVC_INLINE void store_block(T* at, const Fragment<T>& x) {
  uint4* const pieces = reinterpret_cast<uint4*>(at) + ptx::lane();
  WKVC_FOR(i, kBlockPieces<T>, pieces[32 * i] = piece_of(x.unit + 4 * i));
}
template <class T>
WKVC_INLINE Fragment<T> load_block(const T* at) {
  const uint4* const pieces = reinterpret_cast<const uint4*>(at) + ptx::lane();
  Fragment<T> x;
  WKVC_FOR(i, kBlockPieces<T>, set_piece(x.unit + 4 * i, pieces[32 * i]));
  return x;
}

}  // namespace wkvc::memory
