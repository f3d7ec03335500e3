// How the 32 lanes share a 16x16 block: the accumulator order of mma.m16n8k16. With g = lane/4 and t = lane%4 a lane
// holds, in this order, (g,2t) (g,2t+1) (g+8,2t) (g+8,2t+1) (g,2t+8) (g,2t+9) (g+8,2t+8) (g+8,2t+9).
// So its 8 elements meet 2 rows ("row slots") and 4 columns ("column slots").
#pragma once

#include "wkvc/common/dtype.h"
#include "wkvc/cuda/ptx.h"
#include "wkvc/cuda/unroll.h"

namespace wkvc {

namespace layout {

inline constexpr int kElements = 8;
inline constexpr int kRowSlots = 2;
inline constexpr int kColumnSlots = 4;
inline constexpr int kRowGroups = 8;  // row = slot * kRowGroups + group

WKVC_INLINE constexpr int row_slot(int element) { return element / 2 % 2; }
WKVC_INLINE constexpr int column_slot(int element) { return element / 4 * 2 + element % 2; }
WKVC_INLINE constexpr int element(int row_slot, int column_slot) {
  return column_slot / 2 * 4 + row_slot * 2 + column_slot % 2;
}
WKVC_INLINE int row_of_slot(int slot) { return ptx::lane() / 4 + 8 * slot; }
WKVC_INLINE int column_of_slot(int slot) { return ptx::lane() % 4 * 2 + slot % 2 + slot / 2 * 8; }

}  // namespace layout

// The terms of two elements of neighbouring columns.
struct TermPair {
  u32 high, low;
};

// A register: one f32 or tf32, or two 16-bit elements of neighbouring columns. Two registers of two elements of two
// terms.
template <class T>
struct Unit {
  using type = u32;
  static constexpr int elements = 2;
};
template <>
struct Unit<f32> {
  using type = float;
  static constexpr int elements = 1;
};
template <>
struct Unit<tf32> : Unit<f32> {};
template <TwoTerms T>
struct Unit<T> {
  using type = TermPair;
  static constexpr int elements = 2;
};

WKVC_INLINE void unpack(float unit, float* x, f32) { x[0] = unit; }
WKVC_INLINE void unpack(float unit, float* x, tf32) { x[0] = unit; }
WKVC_INLINE void unpack(u32 unit, float* x, f16) {
  x[0] = ptx::widen_f16(static_cast<unsigned short>(unit));
  x[1] = ptx::widen_f16(static_cast<unsigned short>(unit >> 16));
}
WKVC_INLINE void unpack(u32 unit, float* x, bf16) {
  x[0] = ptx::float_of(unit << 16);
  x[1] = ptx::float_of(unit & 0xffff0000u);
}

WKVC_INLINE float pack(const float* x, f32) { return x[0]; }
WKVC_INLINE float pack(const float* x, tf32) { return ptx::round_tf32(x[0]); }
WKVC_INLINE u32 pack(const float* x, f16) { return ptx::pack_f16(x[0], x[1]); }
WKVC_INLINE u32 pack(const float* x, bf16) { return ptx::pack_bf16(x[0], x[1]); }
template <TwoTerms T>
WKVC_INLINE TermPair pack(const float* x, T) {
  const u32 high = pack(x, TermOf<T>{});
  float rounded[2];
  unpack(high, rounded, TermOf<T>{});
  const float rest[] = {x[0] - rounded[0], x[1] - rounded[1]};
  return {high, pack(rest, TermOf<T>{})};
}

// Each element times a power of two, rounded.
WKVC_INLINE u32 multiply(u32 unit, float power, f16) {
  const float pair[] = {power, power};
  return ptx::multiply_f16(unit, pack(pair, f16{}));
}

WKVC_INLINE u32 multiply(u32 unit, float power, bf16) {
  const float pair[] = {power, power};
  return ptx::multiply_bf16(unit, pack(pair, bf16{}));
}

// The sum with each element times zero: that of finite ones does not change it, any other makes it NaN.
WKVC_INLINE float plus_nothing(float sum, float unit, f32) { return ::fmaf(unit, 0.f, sum); }
WKVC_INLINE float plus_nothing(float sum, float unit, tf32) { return ::fmaf(unit, 0.f, sum); }
WKVC_INLINE u32 plus_nothing(u32 sum, u32 unit, f16) { return ptx::multiply_add_f16(unit, 0, sum); }
WKVC_INLINE u32 plus_nothing(u32 sum, u32 unit, bf16) { return ptx::multiply_add_bf16(unit, 0, sum); }
// Looks at high terms alone: low ones are finite where high ones are.
template <TwoTerms T>
WKVC_INLINE TermPair plus_nothing(TermPair sum, TermPair unit, T) {
  return {plus_nothing(sum.high, unit.high, TermOf<T>{}), 0};
}
template <class T>
WKVC_INLINE bool is_nan(float sum, T) {
  return sum != sum;
}
template <class T>
WKVC_INLINE bool is_nan(u32 sum, T) {
  return (sum & 0x7fff7fffu) != 0;  // else both are zero
}
template <TwoTerms T>
WKVC_INLINE bool is_nan(TermPair sum, T) {
  return is_nan(sum.high, TermOf<T>{});
}

template <TwoTerms T>
WKVC_INLINE void unpack(TermPair unit, float* x, T) {
  float low[2];
  unpack(unit.high, x, TermOf<T>{});
  unpack(unit.low, low, TermOf<T>{});
  x[0] += low[0], x[1] += low[1];
}

}  // namespace wkvc
