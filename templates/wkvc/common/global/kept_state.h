// States that kernels keep for each other: 16 rows lie together, in the order of the registers that hold them. Nobody
// else reads them.
#pragma once

#include "wkvc/common/global/global.h"
#include "wkvc/common/tile/scaled.h"

namespace wkvc {

namespace kept_state {

inline constexpr u32 kNotFinite = 31;    // the exponent of infinity and NaN in f16
inline constexpr u32 kFitted = 0x51ae3;  // begins the digits of what was fitted

// 2^power.
WKVC_INLINE float power_of_two(int power) { return scalar::float_of(static_cast<u32>(127 + power) << 23); }

// The power of two that the largest |x| is to be over in f16: 0 where f16 holds it with all digits, else one that
// leaves 2^14 to 2^15, or less of the least numbers of f32.
WKVC_INLINE int power_for(float largest) {
  constexpr float kMost = 65504.f, kLeast = 0x1p-11f;
  constexpr int kLeastPower = -112;
  if (largest == 0.f || (largest >= kLeast && largest <= kMost)) return 0;
  const int power = static_cast<int>(scalar::bits_of(largest) >> 23) - 127 - 14;
  return power < kLeastPower ? kLeastPower : power;
}

// Last digits of what was fitted.
WKVC_INLINE u32 digits_of(int power, u32 exponent) {
  return kFitted << 13 | static_cast<u32>(power + 128) << 5 | exponent;
}
WKVC_INLINE bool are_of_fitted(u32 digits) { return digits >> 13 == kFitted; }
WKVC_INLINE int power_in(u32 digits) { return static_cast<int>(digits >> 5 & 255u) - 128; }
WKVC_INLINE u32 exponent_in(u32 digits) { return digits & 31u; }

// 16 columns after 16 columns.
template <class T, int K>
WKVC_INLINE void store(T* to, const Tile<T, 16, K>& x) {
  WKVC_FOR(j, K / 16, memory::store_block(to + 256 * j, x.block[0][j]));
}

template <class T, int K>
WKVC_INLINE Tile<T, 16, K> load(const T* from) {
  Tile<T, 16, K> x;
  WKVC_FOR(j, K / 16, x.block[0][j] = memory::load_block(from + 256 * j));
  return x;
}

}  // namespace kept_state

// Rows in f16, over a power of two where f16 does not hold the largest. Their first element is infinite or NaN then, so
// that whoever takes the rows as they are finds that. Last digits of 32 elements have its exponent and the power.
template <int K>
WKVC_INLINE Tile<f16, 16, K> round_fitted(const Tile<f32, 16, K>& x) {
  const int power = kept_state::power_for(max_abs(x));
  auto y = round<f16>(x * kept_state::power_of_two(-power));
  auto& first = y.block[0][0];
  const u32 exponent = fragment::first_exponent(first);
  if (power == 0 && exponent != kept_state::kNotFinite) return y;
  fragment::set_first_exponent(first, kept_state::kNotFinite);
  fragment::set_last_digits(first, kept_state::digits_of(power, exponent));
  return y;
}

// The converse, in f32.
template <int K>
WKVC_INLINE Tile<f32, 16, K> widen_fitted(Tile<f16, 16, K> x) {
  auto& first = x.block[0][0];
  if (fragment::first_exponent(first) != kept_state::kNotFinite) return widen(x);
  const u32 digits = fragment::last_digits(first);
  if (!kept_state::are_of_fitted(digits)) return widen(x);
  fragment::set_first_exponent(first, kept_state::exponent_in(digits));
  return widen(x) * kept_state::power_of_two(kept_state::power_in(digits));
}

// Rounds to T. Writes nothing where nobody asked for the states.
template <class T, int K>
WKVC_INLINE void keep_state(const Tile<f32, 16, K>& x, const TensorArg& t, const BlockBase& block, long long row0) {
  if (t.data != nullptr) kept_state::store(global_row<T>(t, block, row0), round<T>(x));
}
// The same in a plain kernel, whose guard sees what T does not hold.
template <class T, class Guard, int K>
WKVC_INLINE void keep_state(Guard& guard, const Tile<f32, 16, K>& x, const TensorArg& t, const BlockBase& block,
                            long long row0) {
  if (t.data == nullptr) return;
  const auto rounded = round<T>(x);
  guard.see(rounded);
  kept_state::store(global_row<T>(t, block, row0), rounded);
}
// The same in f16, of any size.
template <int K>
WKVC_INLINE void keep_fitted_state(const Tile<f32, 16, K>& x, const TensorArg& t, const BlockBase& block,
                                   long long row0) {
  if (t.data != nullptr) kept_state::store(global_row<f16>(t, block, row0), round_fitted(x));
}
// In shared memory, for the lanes that hold them.
template <class T, int K>
WKVC_INLINE void stage_state(const Tile<f32, 16, K>& x, const StagedState<T, K>& to) {
  kept_state::store(to.rows, round<T>(x));
}
template <int K>
WKVC_INLINE void stage_fitted_state(const Tile<f32, 16, K>& x, const StagedState<f16, K>& to) {
  kept_state::store(to.rows, round_fitted(x));
}

// As they are stored, so that nothing waits for them here.
template <class T, int K>
WKVC_INLINE Tile<T, 16, K> load_kept_state(const TensorArg& t, const BlockBase& block, long long row0) {
  return kept_state::load<T, K>(global_row<const T>(t, block, row0));
}

// Ahead of their use, through shared memory, which each lane reads as it wrote it: after wait_copies, without a
// barrier.
template <class T, int K>
WKVC_INLINE void copy_kept_state(const StagedState<T, K>& to, const TensorArg& t, const BlockBase& block,
                                 long long row0) {
  const T* from = global_row<const T>(t, block, row0);
  WKVC_FOR(j, K / 16, copy::block(to.rows + 256 * j, from + 256 * j));
}
template <class T, int K>
WKVC_INLINE Tile<T, 16, K> load_kept_state(const StagedState<T, K>& from) {
  return kept_state::load<T, K>(from.rows);
}

}  // namespace wkvc
