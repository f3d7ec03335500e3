// One number for each token of a chunk, which every warp of a role has.
#pragma once

#include "wkvc/common/global/global.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "wkvc/cuda/nest/token_vector.h"
#else
#include "wkvc/host/nest/token_vector.h"
#endif

namespace wkvc {

template <int N>
using TokenVector = Vector<PerLane, N>;

// Returns a chunk's numbers of a tensor [B, T, H]: zero where there is no token.
template <class T, int N>
WKVC_INLINE TokenVector<N> load_tokens(const TensorArg& t, const Block& block, long long tokens, int chunk) {
  return load_token_vector<T, PerLane, N>(t, block, static_cast<long long>(chunk) * N, valid_rows<N>(tokens, chunk));
}

}  // namespace wkvc
