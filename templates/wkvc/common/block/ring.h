// The chunks of a sequence in rings of shared tiles, copied ahead of their use.
#pragma once

#include "wkvc/common/block/copy_async.h"

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

// `Stages` tiles one after the other, Padded or Exchanged; chunk c lives in tile c mod Stages.
template <class T, int R, int C, int Stages, template <class, int, int> class Layout = Padded>
struct Ring {
  char* memory;

  WKVC_INLINE Layout<T, R, C> operator[](int chunk) const {
    const int stage = static_cast<int>(static_cast<u32>(chunk) % Stages);
    return {reinterpret_cast<T*>(memory + stage * Layout<T, R, C>::bytes)};
  }
};

// A tensor that warp `warp` copies to a ring; the largest |x| of a chunk goes to `maximum`, if anybody needs it.
struct Copied {
  int warp;
  const TensorArg& tensor;
  const char* ring;
  const float* maximum;
};

template <class Ring>
WKVC_INLINE Copied copied(int warp, const TensorArg& tensor, const Ring& ring, const float* maximum = nullptr) {
  return {warp, tensor, ring.memory, maximum};
}

// The tiles of one of a kernel's tensors: where they begin is found once and kept, or, where registers are short, found
// for each.
template <class T, int R, int C, bool Kept>
class TilesOf {
 public:
  TilesOf() = default;
  template <int Tensors>
  WKVC_INLINE TilesOf(const KernelArgs<Tensors>& args, const BlockBase& block, int tensor)
      : first_(args.tensor[tensor], block, 0) {}

  template <int Tensors>
  WKVC_INLINE Source<T, R, C> tile(const KernelArgs<Tensors>&, const BlockBase&, int n) const {
    return first_.tile(n);
  }

 private:
  Source<T, R, C> first_;
};
template <class T, int R, int C>
class TilesOf<T, R, C, false> {
 public:
  TilesOf() = default;
  template <int Tensors>
  WKVC_INLINE TilesOf(const KernelArgs<Tensors>&, const BlockBase&, int tensor) : tensor_(tensor) {}

  template <int Tensors>
  WKVC_INLINE Source<T, R, C> tile(const KernelArgs<Tensors>& args, const BlockBase& block, int n) const {
    return Source<T, R, C>(args.tensor[memory::kept(tensor_)], block, static_cast<long long>(n) * R);
  }

 private:
  int tensor_ = 0;
};

// The tensors that this warp copies, of those with tiles of one kind: at most `Count`. Each is copied by one warp,
// which then knows its largest element without the others. The same instructions serve all warps: what they copy is
// data.
template <class T, int R, int C, int Stages, int Count, template <class, int, int> class Layout = Padded,
          bool Kept = true>
class Copies {
 public:
  // The n-th of each warp that has so many.
  template <int N, int Tensors, class... Each>
  WKVC_INLINE void take(const KernelArgs<Tensors>& args, const BlockBase& block, const Each&... each) {
    static_assert(N < Count, "copies fewer tensors");
    int tensor = 0;
    Tensor& own = tensors_[N];
    ((tensor = block.warp == each.warp ? static_cast<int>(&each.tensor - args.tensor) : tensor), ...);
    ((own.ring = block.warp == each.warp ? static_cast<int>(each.ring - block.memory) : own.ring), ...);
    ((own.maximum = block.warp == each.warp ? maximum_at(block, each) : own.maximum), ...);
    own.source = TilesOf<T, R, C, Kept>(args, block, tensor);
  }

  // Starts copying chunk `chunk`; rows past the end become zero. The caller commits.
  template <int Tensors>
  WKVC_INLINE void copy(const KernelArgs<Tensors>& args, const BlockBase& block, int chunk) const {
    const int valid = valid_rows<R>(tokens_of(args, block), chunk);
    const PiecePlaces places(Layout<T, R, C>{reinterpret_cast<T*>(block.memory)}, valid);
    // One test for all of them, of which one side is rare.
    if (is_aligned(args)) {
      WKVC_FOR(n, Count, tensors_[n].copy(args, block, chunk, valid, places, true));
    } else {
      WKVC_FOR(n, Count, tensors_[n].copy(args, block, chunk, valid, places, false));
    }
  }

  // Of a chunk whose copies have been waited for. A block.barrier() belongs between this and reading, and another one
  // before the next chunk's.
  WKVC_INLINE void publish_maxima(const BlockBase& block, int chunk) const { publish_maxima(block, block, chunk); }
  // Where the slots of maxima lie in other memory than the rings.
  WKVC_INLINE void publish_maxima(const BlockBase& rings, const BlockBase& maxima, int chunk) const {
    WKVC_FOR(n, Count, tensors_[n].publish_maximum(rings, maxima, chunk));
  }

 private:
  static constexpr int kNowhere = -1;

  // Offsets in shared memory: pointers would take twice the registers.
  struct Tensor {
    TilesOf<T, R, C, Kept> source;
    int ring = kNowhere;
    int maximum = kNowhere;

    WKVC_INLINE Layout<T, R, C> tile(const BlockBase& block, int chunk) const {
      return Ring<T, R, C, Stages, Layout>{block.memory + ring}[chunk];
    }
    template <int Tensors>
    WKVC_INLINE void copy(const KernelArgs<Tensors>& args, const BlockBase& block, int chunk, int valid,
                          const PiecePlaces<Layout<T, R, C>>& places, bool aligned) const {
      if (ring != kNowhere) copy_async(tile(block, chunk), source.tile(args, block, chunk), valid, places, aligned);
    }
    WKVC_INLINE void publish_maximum(const BlockBase& rings, const BlockBase& maxima, int chunk) const {
      if (maximum == kNowhere) return;
      const float largest = copied_max(tile(rings, chunk));
      if (lanes::is_first()) *maxima.floats(maximum) = largest;
    }
  };

  static WKVC_INLINE int maximum_at(const BlockBase& block, const Copied& copied) {
    if (copied.maximum == nullptr) return kNowhere;
    return static_cast<int>(reinterpret_cast<const char*>(copied.maximum) - block.memory);
  }

  Tensor tensors_[Count];
};

}  // namespace wkvc
