// The chunks of a sequence in a ring of shared tiles, copied ahead of their use.
#pragma once

#include "wkvc/common/copy_async.h"

namespace wkvc {

// `Stages` tiles one after the other; chunk c lives in tile c mod Stages.
template <class T, int R, int C, int Stages>
struct Ring {
  char* memory;

  WKVC_INLINE Shared<T, R, C> operator[](long long chunk) const {
    return {reinterpret_cast<T*>(memory + chunk % Stages * Shared<T, R, C>::bytes)};
  }
};

// Tokens of chunk `chunk` that the sequence has: 0 … C.
template <int C>
WKVC_INLINE int valid_rows(long long tokens, long long chunk) {
  const long long left = tokens - C * chunk;
  return left >= C ? C : left > 0 ? static_cast<int>(left) : 0;
}

// Starts copying a chunk into its place; rows past the sequence's end become zero, a chunk past it altogether.
template <class T, int R, int C, int Stages>
WKVC_INLINE void copy_chunk(const Ring<T, R, C, Stages>& ring, long long chunk, const TensorArg& t,
                            const BlockBase& block, long long tokens) {
  copy_async(ring[chunk], t, block, R * chunk, valid_rows<R>(tokens, chunk));
}

}  // namespace wkvc
