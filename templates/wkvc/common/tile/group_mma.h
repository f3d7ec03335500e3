// Contractions of warp groups: four neighbouring warps, the first of which has a number that 4 divides, each with 16
// rows of its own. Together they read an operand in shared memory once instead of four times. All of the group call the
// same.
#pragma once

#include "wkvc/common/tile/mma.h"

namespace wkvc {

// acc[m,n] += Σ_k A[m,k]·B[n,k], A in registers, B in shared memory.
template <class Acc, class A, class B>
struct Term {
  static_assert(Acc::kRows == 16 && A::kRows == 16, "a warp has 16 rows");
  static_assert(B::kRows == Acc::kColumns && B::kColumns == A::kColumns, "operands do not fit");

  Acc& acc;
  const A& a;
  const B& b;
};
template <int N, class A, class B>
WKVC_INLINE Term<Tile<f32, 16, N>, A, B> term(Tile<f32, 16, N>& acc, const A& a, const B& b) {
  return {acc, a, b};
}

}  // namespace wkvc

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/group_mma.h"
#else
#include "wkvc/host/group_mma.h"
#endif
