// The chunks of a sequence in rings of shared tiles, copied ahead of their use.
#pragma once

#include "wkvc/common/block/copy_async.h"
#include "wkvc/common/block/differing_tokens.h"

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
  bool looked_at = false;
};

// Says that operands are made of a tensor whose largest element nobody needs.
struct LookedAt {};

template <class Ring>
WKVC_INLINE Copied copied(int warp, const TensorArg& tensor, const Ring& ring, const float* maximum = nullptr) {
  return {warp, tensor, ring.memory, maximum};
}
template <class Ring>
WKVC_INLINE Copied copied(int warp, const TensorArg& tensor, const Ring& ring, LookedAt) {
  return {warp, tensor, ring.memory, nullptr, true};
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
    copy(args, block, chunk, valid_rows<R>(tokens_of(args, block), chunk));
  }
  // The same of rows that are not among those of `valid`, a count of the first ones or a TokenRange.
  template <int Tensors, class Range>
  WKVC_INLINE void copy(const KernelArgs<Tensors>& args, const BlockBase& block, int chunk, Range valid) const {
    const PiecePlaces places(Layout<T, R, C>{reinterpret_cast<T*>(block.memory)}, valid);
    // One test for all of them, of which one side is rare.
    if (is_aligned(args)) {
      WKVC_FOR(n, Count, tensors_[n].copy(args, block, chunk, valid, places, true));
    } else {
      WKVC_FOR(n, Count, tensors_[n].copy(args, block, chunk, valid, places, false));
    }
  }

  // The same of inverses of unit lower triangular matrices. A range that does not begin with the chunk's first token
  // has one token, whose inverse is 1.
  template <int Tensors>
  WKVC_INLINE void copy_inverses(const KernelArgs<Tensors>& args, const BlockBase& block, int chunk, int valid) const {
    copy(args, block, chunk, valid);
  }
  template <int Tensors>
  WKVC_INLINE void copy_inverses(const KernelArgs<Tensors>& args, const BlockBase& block, int chunk,
                                 TokenRange tokens) const {
    if (tokens.first == 0) return copy(args, block, chunk, tokens);
    WKVC_FOR(n, Count, tensors_[n].set_one(block, chunk, tokens.first));
  }

  // Of a chunk whose copies have been waited for. A block.barrier() belongs between this and reading, and another one
  // before the next chunk's.
  WKVC_INLINE void publish_maxima(const BlockBase& block, int chunk) const { publish_maxima(block, block, chunk); }
  // Where the slots of maxima lie in other memory than the rings.
  WKVC_INLINE void publish_maxima(const BlockBase& rings, const BlockBase& maxima, int chunk) const {
    WKVC_FOR(n, Count, tensors_[n].publish_maximum(rings, maxima, chunk));
  }
  // The same, and a stretch that looks sees whether tokens differ too much. Warps compare tokens where pieces differ so
  // much.
  template <class Stretch>
  WKVC_INLINE void publish_maxima(const BlockBase& block, int chunk, Stretch& stretch) const {
    publish_maxima(block, block, chunk, stretch);
  }
  template <class Stretch>
  WKVC_INLINE void publish_maxima(const BlockBase& rings, const BlockBase& maxima, int chunk, Stretch& stretch) const {
    if constexpr (Stretch::kLooks) {
      bool may_differ = false;
      WKVC_FOR(n, Count, may_differ |= tensors_[n].publish_maximum(rings, maxima, chunk, kMostSpread));
      if (!lanes::any(may_differ)) return;
      lanes::sync();  // other lanes' copies
      WKVC_FOR(n, Count, stretch.see(tensors_[n].is_looked_at() && tokens_differ(tensors_[n].tile(rings, chunk))));
    } else {
      publish_maxima(rings, maxima, chunk);
    }
  }

 private:
  static constexpr int kNowhere = -1, kLookedAt = -2;

  // Offsets in shared memory: pointers would take twice the registers.
  struct Tensor {
    TilesOf<T, R, C, Kept> source;
    int ring = kNowhere;
    int maximum = kNowhere;

    WKVC_INLINE Layout<T, R, C> tile(const BlockBase& block, int chunk) const {
      return Ring<T, R, C, Stages, Layout>{block.memory + ring}[chunk];
    }
    template <int Tensors, class Range>
    WKVC_INLINE void copy(const KernelArgs<Tensors>& args, const BlockBase& block, int chunk, Range valid,
                          const PiecePlaces<Layout<T, R, C>, Range>& places, bool aligned) const {
      if (ring != kNowhere) copy_async(tile(block, chunk), source.tile(args, block, chunk), valid, places, aligned);
    }
    // Makes the tile a matrix of zeros with a 1 on the diagonal.
    WKVC_INLINE void set_one(const BlockBase& block, int chunk, int token) const {
      if (ring == kNowhere) return;
      const auto matrix = tile(block, chunk);
      lanes::for_each([&](int lane) {
        for (int i = lane; i < R * C; i += 32)
          *matrix.at(i / C, i % C) = scalar::round<T>(i / C == token && i % C == token ? 1.f : 0.f);
      });
    }
    WKVC_INLINE bool is_looked_at() const { return maximum != kNowhere; }
    WKVC_INLINE void publish_maximum(const BlockBase& rings, const BlockBase& maxima, int chunk) const {
      if (maximum == kNowhere || maximum == kLookedAt) return;
      const float largest = copied_max(tile(rings, chunk));
      if (lanes::is_first()) *maxima.floats(maximum) = largest;
    }
    // Returns whether a piece of this lane has nothing larger than the tile's largest element over `spread`.
    WKVC_INLINE bool publish_maximum(const BlockBase& rings, const BlockBase& maxima, int chunk, float spread) const {
      if (!is_looked_at()) return false;
      copy::Extremes<T> of_pieces;
      const float largest = copied_max(tile(rings, chunk), of_pieces);
      if (lanes::is_first() && maximum != kLookedAt) *maxima.floats(maximum) = largest;
      return of_pieces.least() * spread < largest;
    }
  };

  static WKVC_INLINE int maximum_at(const BlockBase& block, const Copied& copied) {
    if (copied.maximum == nullptr) return copied.looked_at ? kLookedAt : kNowhere;
    return static_cast<int>(reinterpret_cast<const char*>(copied.maximum) - block.memory);
  }

  Tensor tensors_[Count];
};

}  // namespace wkvc
