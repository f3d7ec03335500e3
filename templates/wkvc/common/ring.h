// The chunks of a sequence in a ring of shared tiles, copied ahead of their use.
#pragma once

#include "wkvc/common/copy_async.h"

namespace wkvc {

template <int C>
WKVC_INLINE int chunk_count(long long tokens) {
  return static_cast<int>((tokens + C - 1) / C);
}

// Tokens of chunk `chunk` that the sequence has: 0 … C.
template <int C>
WKVC_INLINE int valid_rows(long long tokens, int chunk) {
  const int whole = static_cast<int>(tokens / C);
  return chunk < whole ? C : chunk == whole ? static_cast<int>(tokens % C) : 0;
}

// `Stages` tiles one after the other; chunk c lives in tile c mod Stages. Chunks are copied in order, from `first` on
// and `Step` (1 or -1) at a time, so the ring keeps where the next one starts.
template <class T, int R, int C, int Stages, int Step = 1>
class Ring {
 public:
  static constexpr int kRows = R;

  WKVC_INLINE Ring(char* memory, const TensorArg& t, const BlockBase& block, int first = 0)
      : memory_(memory), next_(t, block, static_cast<long long>(R) * first) {}

  WKVC_INLINE Shared<T, R, C> operator[](int chunk) const {
    const int stage = static_cast<int>(static_cast<u32>(chunk) % Stages);
    return {reinterpret_cast<T*>(memory_ + stage * Shared<T, R, C>::bytes)};
  }

  // Starts copying `chunk`, the one after the last; rows from `valid` on become zero. The caller advances.
  WKVC_INLINE void copy(int chunk, const BlockBase& block, int valid, bool aligned) const {
    copy_async((*this)[chunk], next_, block, valid, aligned);
  }
  WKVC_INLINE void advance() { next_.advance(Step * R); }

 private:
  char* memory_;
  Source<T, R, C> next_;
};

// From the last chunk, which is `first`, to chunk 0.
template <class T, int R, int C, int Stages>
using BackwardRing = Ring<T, R, C, Stages, -1>;

// Starts copying `chunk` of several tensors. The caller commits.
template <int N, class... Rings>
WKVC_INLINE void copy_chunk(const KernelArgs<N>& args, const BlockBase& block, int chunk, Rings&... rings) {
  constexpr int kRows[] = {Rings::kRows...};
  static_assert(((Rings::kRows == kRows[0]) && ...), "a chunk has as many tokens in every ring");
  const int valid = valid_rows<kRows[0]>(args.tokens, chunk);
  // One test for all of them, of which one side is rare.
  if (args.vector16) {
    (rings.copy(chunk, block, valid, true), ...);
  } else {
    (rings.copy(chunk, block, valid, false), ...);
  }
  (rings.advance(), ...);
}

// The same through temporary rings, for one chunk.
template <int N, class... Rings>
WKVC_INLINE void copy_first_chunk(const KernelArgs<N>& args, const BlockBase& block, int chunk, Rings... rings) {
  copy_chunk(args, block, chunk, rings...);
}

}  // namespace wkvc
