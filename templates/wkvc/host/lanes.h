// A warp of one thread: nothing crosses lanes.
#pragma once

namespace wkvc::lanes {

inline void sync() {}
inline bool is_first() { return true; }
inline bool is_first_row_group() { return true; }
inline bool is_first_column_group() { return true; }

inline bool any(bool flag) { return flag; }

// One of them.
inline int own() { return 0; }

// Calls f with each of the 32 lane numbers that this thread stands for.
template <class F>
void for_each(F f) {
  for (int lane = 0; lane < 32; ++lane) f(lane);
}

template <bool FromLast>
float scan_rows(float x) {
  return x;
}
inline float from_row_group(float x, int) { return x; }
template <bool FromLast>
float from_row_group_before(float) {
  return 0.f;
}
inline float sum_row_groups(float x) { return x; }
inline float sum_column_groups(float x) { return x; }
inline float max_non_negative(float x) { return x; }

}  // namespace wkvc::lanes
