// What crosses lanes. Rows of a block are spread over the lane groups g = lane/4, columns over t = lane%4.
#pragma once

#include "wkvc/cuda/layout.h"
#include "wkvc/cuda/ptx.h"

namespace wkvc::lanes {

WKVC_INLINE void sync() { ptx::sync_warp(); }
WKVC_INLINE bool is_first() { return ptx::lane() == 0; }
WKVC_INLINE bool is_first_row_group() { return ptx::lane() / 4 == 0; }
WKVC_INLINE bool is_first_column_group() { return ptx::lane() % 4 == 0; }

WKVC_INLINE bool any(bool flag) { return ptx::reduce_max(flag ? 1u : 0u) != 0; }

// One of them: on the GPU, the only one.
WKVC_INLINE int own() { return ptx::lane(); }

// Calls f with each of the 32 lane numbers that this thread stands for.
template <class F>
WKVC_INLINE void for_each(F f) {
  f(ptx::lane());
}

template <bool FromLast>
WKVC_INLINE float scan_step(float x, int step) {
  const int group = ptx::lane() / 4;
  const float y = FromLast ? ptx::shuffle_down(x, 4 * step) : ptx::shuffle_up(x, 4 * step);
  const bool inside = FromLast ? group + step < 8 : group >= step;
  return inside ? x + y : x;
}

// Inclusive prefix sum over the row groups, from the first row down or from the last row up.
template <bool FromLast>
WKVC_INLINE float scan_rows(float x) {
  x = scan_step<FromLast>(x, 1);
  x = scan_step<FromLast>(x, 2);
  return scan_step<FromLast>(x, 4);
}

// The value that the lane of the same columns in row group `group` holds.
WKVC_INLINE float from_row_group(float x, int group) { return ptx::shuffle(x, 4 * group + ptx::lane() % 4); }

// The value of the row group before, or behind, and zero where there is none.
template <bool FromLast>
WKVC_INLINE float from_row_group_before(float x) {
  const float y = FromLast ? ptx::shuffle_down(x, 4) : ptx::shuffle_up(x, 4);
  return ptx::lane() / 4 == (FromLast ? 7 : 0) ? 0.f : y;
}

WKVC_INLINE float sum_row_groups(float x) {
  x += ptx::shuffle_xor(x, 4);
  x += ptx::shuffle_xor(x, 8);
  return x + ptx::shuffle_xor(x, 16);
}

WKVC_INLINE float sum_column_groups(float x) {
  x += ptx::shuffle_xor(x, 1);
  return x + ptx::shuffle_xor(x, 2);
}

// Maximum over the warp of non-negative numbers, whose bit patterns are ordered like they are.
WKVC_INLINE float max_non_negative(float x) { return ptx::float_of(ptx::reduce_max(ptx::bits_of(x))); }

}  // namespace wkvc::lanes
