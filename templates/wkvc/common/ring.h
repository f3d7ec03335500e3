// The chunks of a sequence in a ring of shared tiles, copied ahead of their use.
#pragma once

#include "wkvc/common/copy_async.h"

namespace wkvc {

// Tokens of chunk `chunk` that the sequence has: 0 … C.
template <int C>
WKVC_INLINE int valid_rows(long long tokens, long long chunk) {
  const long long left = tokens - C * chunk;
  return left >= C ? C : left > 0 ? static_cast<int>(left) : 0;
}

// `Stages` tiles one after the other; chunk c lives in tile c mod Stages. Chunks are copied in order, from `first` on
// and `Step` (1 or -1) at a time, so the ring keeps where the next one starts.
// Those before `end` only where the ring is Bounded: every copy looks whether it is one of them.
template <class T, int R, int C, int Stages, int Step = 1, bool Bounded = (Step < 0)>
class Ring {
 public:
  // `end`: the chunk after the last, in the direction of the steps.
  WKVC_INLINE Ring(char* memory, const TensorArg& t, const BlockBase& block, long long first = 0, long long end = -1)
      : memory_(memory), tensor_(t), next_(global_row<const T>(t, block, first * R)), end_(end) {}

  WKVC_INLINE Shared<T, R, C> operator[](long long chunk) const {
    return {reinterpret_cast<T*>(memory_ + static_cast<int>(chunk % Stages) * Shared<T, R, C>::bytes)};
  }

  // Starts copying `chunk`, the one after the last; rows past the sequence's end become zero, and so does a whole
  // chunk. From the end on there is nothing to copy; the caller commits all the same.
  WKVC_INLINE void copy(long long chunk, const BlockBase& block, long long tokens) {
    if (Bounded && (Step > 0 ? chunk >= end_ : chunk <= end_)) return;
    copy_async((*this)[chunk], tensor_, block, next_, valid_rows<R>(tokens, chunk));
    next_ += Step * R * tensor_.row;
  }

 private:
  char* memory_;
  const TensorArg& tensor_;
  const T* next_;
  long long end_;
};

// Of a part of the sequence.
template <class T, int R, int C, int Stages>
using BoundedRing = Ring<T, R, C, Stages, 1, true>;

// From the last chunk, which is `first`, to chunk 0.
template <class T, int R, int C, int Stages>
using BackwardRing = Ring<T, R, C, Stages, -1>;

}  // namespace wkvc
