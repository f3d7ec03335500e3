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
// access for each where a tensor is aligned: how many elements a run has, how many runs a row slot of a block has,
// which column run n begins with, and which register.
template <class T>
inline constexpr int kRun = is_same<T, f32> ? 2 : 4;
template <class T>
inline constexpr int kRuns = 4 / kRun<T>;

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

WKVC_INLINE u32 bits_of(u32 unit) { return unit; }
WKVC_INLINE u32 bits_of(float unit) { return ptx::bits_of(unit); }
WKVC_INLINE void set_bits(u32& unit, u32 bits) { unit = bits; }
WKVC_INLINE void set_bits(float& unit, u32 bits) { unit = ptx::float_of(bits); }

// Registers of neighbours in memory, 4, 8 or 16 bytes at a multiple of as many.
template <int Registers>
struct alignas(4 * Registers) Piece {
  u32 x[Registers];
};

// A register of one f32, or of two elements in 16 bits, which need not be aligned, or not even neighbours.
WKVC_INLINE float load_unit(const f32* first, const f32* = nullptr) { return *first; }
template <class T>
WKVC_INLINE u32 load_unit(const T* first, const T* second) {
  return first->bits | static_cast<u32>(second->bits) << 16;
}
WKVC_INLINE void store_unit(f32* to, float unit) { *to = unit; }
template <class T>
WKVC_INLINE void store_unit(T* to, u32 unit) {
  to[0].bits = static_cast<u16>(unit);
  to[1].bits = static_cast<u16>(unit >> 16);
}

// N neighbours, aligned to their bytes.
template <int N, class T, class Register>
WKVC_INLINE void load_neighbours(const T* from, Register* units) {
  constexpr int kUnits = N / Unit<T>::elements;
  const auto piece = *reinterpret_cast<const Piece<kUnits>*>(from);
  WKVC_FOR(n, kUnits, set_bits(units[n], piece.x[n]));
}

template <int N, class T, class Register>
WKVC_INLINE void store_neighbours(T* to, const Register* units) {
  constexpr int kUnits = N / Unit<T>::elements;
  Piece<kUnits> piece;
  WKVC_FOR(n, kUnits, piece.x[n] = bits_of(units[n]));
  *reinterpret_cast<Piece<kUnits>*>(to) = piece;
}

template <class T, class Register>
WKVC_INLINE void load_run(const T* from, Register* units, bool aligned) {
  constexpr int kElements = Unit<T>::elements, kUnits = kRun<T> / kElements;
  if (aligned) {
    load_neighbours<kRun<T>>(from, units);
  } else {
    WKVC_FOR(n, kUnits, units[n] = load_unit(from + kElements * n, from + kElements * n + 1));
  }
}
template <class T, class Register>
WKVC_INLINE void store_run(T* to, const Register* units, bool aligned) {
  constexpr int kElements = Unit<T>::elements, kUnits = kRun<T> / kElements;
  if (aligned) {
    store_neighbours<kRun<T>>(to, units);
  } else {
    WKVC_FOR(n, kUnits, store_unit(to + kElements * n, units[n]));
  }
}

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

// Reports a number above 0 to a word that blocks of several sequences may report to at once. Any of them stays.
WKVC_INLINE void report(int& to, int number) { to = number; }

}  // namespace wkvc::memory
