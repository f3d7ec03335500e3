// The inverse of I + L of one 16x16 block, transposed: by substitution in f32, a column a lane. Products of mma.sync
// would be shorter, but wait for whole groups of wgmma of other warps.
#pragma once

#include "wkvc/cuda/fragment.h"
#include "wkvc/cuda/lanes.h"

namespace wkvc {

namespace invert_transposed_parts {

inline constexpr int kLd = 20;  // floats of a row: keeps rows out of each other's banks

// Element i of a column of the inverse, once those above it are there.
template <int I>
WKVC_INLINE void substitute(float (&column)[16], const float* row) {
  const auto subtract = [&](int first) WKVC_INLINE_LAMBDA {
    const float4 four = *reinterpret_cast<const float4*>(row + first);
    const float l[] = {four.x, four.y, four.z, four.w};
    WKVC_FOR(k, 4, first + k < I ? void(column[I] -= l[k] * column[first + k]) : void());
  };
  WKVC_FOR(n, (I + 3) / 4, subtract(4 * n));
}

// Two neighbours of a column as a register.
WKVC_INLINE u32 rounded_pair(const float* x) { return ptx::pack_f16(x[0], x[1]); }

}  // namespace invert_transposed_parts

inline constexpr int kInvertFloats = 16 * invert_transposed_parts::kLd;

// `scratch`: kInvertFloats floats in shared memory for this warp alone.
WKVC_INLINE Fragment<f16> invert_transposed(const Fragment<f32>& L, float* scratch) {
  using namespace invert_transposed_parts;
  lanes::sync();  // lanes that still read the last block's
  fragment::store(scratch, kLd, L);
  lanes::sync();
  const int lane = ptx::kept(ptx::lane()), own = lane % 16, row0 = ptx::kept(0);  // made again in each chunk
  float column[16];
  WKVC_FOR(i, 16, column[i] = i == own ? 1.f : 0.f);
  const auto step = [&]<int... i>(Numbers<i...>)
                        WKVC_INLINE_LAMBDA { (substitute<i + 1>(column, scratch + (i + 1) * kLd), ...); };
  step(typename FirstNumbers<15>::type{});
  lanes::sync();
  u16* const rows = reinterpret_cast<u16*>(scratch);  // of 16 elements and 8 between
  uint4* const to = reinterpret_cast<uint4*>(rows + 24 * own) + lane / 16;
  float half[8];
  WKVC_FOR(i, 8, half[i] = lane < 16 ? column[i] : column[8 + i]);
  *to = make_uint4(rounded_pair(half), rounded_pair(half + 2), rounded_pair(half + 4), rounded_pair(half + 6));
  lanes::sync();
  return fragment::load_at<f16>([rows, row0](int row, int column)
                                    WKVC_INLINE_LAMBDA { return rows + 24 * (row0 + row) + column; });
}

}  // namespace wkvc
