// Substitution in f32 with I + L of one 16x16 block, a column a lane: half a warp makes the inverse, the other half
// divides another block. Products of mma.sync would be shorter, but wait for whole groups of wgmma of other warps.
#pragma once

#include "wkvc/cuda/fragment.h"
#include "wkvc/cuda/lanes.h"

namespace wkvc {

namespace substitution {

inline constexpr int kLd = 20;  // floats of a row: keeps rows out of each other's banks

// Element i of a column of the solution, once those above it are there.
template <int I>
WKVC_INLINE void step(float (&column)[16], const float* row) {
  const auto subtract = [&](int first) WKVC_INLINE_LAMBDA {
    const float4 four = *reinterpret_cast<const float4*>(row + first);
    const float l[] = {four.x, four.y, four.z, four.w};
    WKVC_FOR(k, 4, first + k < I ? void(column[I] -= l[k] * column[first + k]) : void());
  };
  WKVC_FOR(n, (I + 3) / 4, subtract(4 * n));
}

// A lane's column of I, or of a block.
WKVC_INLINE void load_column(float (&column)[16], const Fragment<f32>& block, float* scratch, int lane) {
  lanes::sync();  // lanes that still read what was there
  fragment::store(scratch, kLd, block);
  lanes::sync();
  const float* const own = scratch + (lane & 15);
  WKVC_FOR(i, 16, column[i] = lane < 16 ? (i == lane ? 1.f : 0.f) : own[i * kLd]);
}

// Eight neighbours of a column.
WKVC_INLINE uint4 rounded(const float* x) {
  return make_uint4(ptx::pack_f16(x[0], x[1]), ptx::pack_f16(x[2], x[3]), ptx::pack_f16(x[4], x[5]),
                    ptx::pack_f16(x[6], x[7]));
}

}  // namespace substitution

inline constexpr int kSubstitutionFloats = 16 * substitution::kLd;

// Makes (I + L)^-1 and (I + L)^-1 · block, of what L has below the diagonal. `scratch`: kSubstitutionFloats floats in
// shared memory for this warp alone.
WKVC_INLINE void substitute(const Fragment<f32>& L, const Fragment<f32>& block, float* scratch, Fragment<f16>& inverse,
                            Fragment<f16>& product) {
  using namespace substitution;
  const int lane = ptx::kept(ptx::lane()), row0 = ptx::kept(0);  // made again in each chunk
  float column[16];
  load_column(column, block, scratch, lane);
  lanes::sync();
  fragment::store(scratch, kLd, L);
  lanes::sync();
  const auto all = [&]<int... i>(Numbers<i...>)
                       WKVC_INLINE_LAMBDA { (step<i + 1>(column, scratch + (i + 1) * kLd), ...); };
  all(typename FirstNumbers<15>::type{});
  lanes::sync();
  u16* const columns = reinterpret_cast<u16*>(scratch);  // those of the inverse, then those of the product
  uint4* const own = reinterpret_cast<uint4*>(columns + 16 * lane);
  own[0] = rounded(column), own[1] = rounded(column + 8);
  lanes::sync();
  const auto at = [columns, row0](int row, int column)
                      WKVC_INLINE_LAMBDA { return columns + 16 * (row0 + row) + column; };
  inverse = fragment::load_transposed_at<f16>(at);
  product =
      fragment::load_transposed_at<f16>([at](int row, int column) WKVC_INLINE_LAMBDA { return at(16 + row, column); });
}

}  // namespace wkvc
