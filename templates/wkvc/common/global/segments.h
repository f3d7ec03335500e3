// A sequence cut into segments that blocks go through side by side. The state after a segment is S·A + B of the state S
// before it, row by row. A summary kernel runs the segment from the rows of a zero state, which gives B, and from those
// of the map that changes nothing, which gives A; combine_segments turns both into the state before each segment.
#pragma once

#include "wkvc/common/block/ring.h"
#include "wkvc/common/global/global.h"
#include "wkvc/common/tile/mma.h"

namespace wkvc {

// First chunk of segment `segment`, or the end of the last: whole units of chunks, dealt out evenly, or pieces.
template <int C, int Unit>
WKVC_INLINE int segment_begin(long long tokens, const BlockBase& block, int segment) {
  const int chunks = chunk_count<C>(tokens);
  const long long units = (chunks - 1) / Unit + 1;
  const bool in_pieces = kMapsSequences && block.piece > 0;
  const long long begin = in_pieces ? block.piece / C * segment : units * segment / block.segments * Unit;
  return begin < chunks ? static_cast<int>(begin) : chunks;
}

// A step's rows of a map are read in one stage, while those of the next two steps are copied to the others.
inline constexpr int kMapStages = 3;

// What a map is of. A diagonal one needs no more than its diagonal, which 16 equal rows hold: those of a warp.
enum class Map { full, diagonal };

template <Map Kind, int K>
inline constexpr int kMapRows = Kind == Map::full ? K : 16;

// Rows row0 … of what a summary begins with: V zero rows of the state, then those of the map that changes nothing.
template <Map Kind, int V, int K>
WKVC_INLINE Tile<f32, 16, K> start_summary(int row0) {
  Tile<f32, 16, K> x{};
  const auto start = [&](int row, int column) WKVC_INLINE_LAMBDA {
    return row >= 0 && (Kind == Map::diagonal || row == column) ? 1.f : 0.f;
  };
  WKVC_EACH_ELEMENT(16, K, x.block[i][j].unit[e] = start(row0 - V + row_of(i, e), column_of(j, e)));
  return x;
}

// x, or zero in rows of the map: they have no share in what does not depend on the state.
template <int R, int C>
WKVC_INLINE Tile<f32, R, C> offset(const Tile<f32, R, C>& x, bool of_state) {
  return of_state ? x : zeros<R, C>();
}
template <class Axis, int N>
WKVC_INLINE Vector<Axis, N> offset(const Vector<Axis, N>& x, bool of_state) {
  return of_state ? x : Vector<Axis, N>{};
}

// The segment that `before` segments come before. Gradients come from the last one.
template <bool Backward>
WKVC_INLINE int segment_behind(const BlockBase& block, int before) {
  return Backward ? block.segments - 1 - before : before;
}

// Rows of a map as they are copied: transposed blocks of these are read without bank conflicts.
template <int K, int Rows>
using MapSlab = Shared<f32, Rows, K, K + 4>;

// Bytes of shared memory of a block that has so many strips of 16 rows of the state, and Rows of a full map at once.
template <int K, int Rows>
constexpr int combining_bytes(int strips) {
  return kMapStages * MapSlab<K, Rows>::bytes + 2 * strips * Shared<f32, 16, K>::bytes;
}

// The maps of segments, of each of which a warp has 16 columns. `before` is how many maps come before one.
template <Map Kind, int V, int K, int Rows, bool Backward>
class SegmentMaps;

// All warps of a block copy rows of a map to shared memory, ahead of their use. Behind the rows each strip of 16 rows
// of the state has two tiles: for the map at hand and for the one before.
template <int V, int K, int Rows, bool Backward>
class SegmentMaps<Map::full, V, K, Rows, Backward> {
 public:
  struct Fetched {};

  WKVC_INLINE SegmentMaps(const TensorArg& segments, const Block& block, int col0)
      : segments_(segments), block_(block), steps_((block.segments - 1) * kSteps), col0_(col0) {
    block.barrier();  // the strips before have met all maps
    WKVC_FOR(step, kMapStages - 1, copy(step));
  }

  WKVC_INLINE Fetched fetch(int) const { return {}; }  // all are copied ahead

  // Adds S times the map to `next`. S has a warp's columns, which all warps of its strip need: each warp of the block
  // calls this function.
  WKVC_INLINE void apply(Tile<f32, 16, 16>& next, const Tile<f32, 16, 16>& S, Fetched, int before) const {
    const int tile = block_.warp / (K / 16) * 2 + before % 2;
    const auto rows = block_.template shared<f32, 16, K>(kRing + tile * Shared<f32, 16, K>::bytes);
    store(rows.template cols<16>(col0_), S);
    Tile<f32, 16, 16> sums[2] = {};  // two, so that one need not wait for the other
    for (int n = 0; n < kSteps; ++n) {
      const int step = before * kSteps + n;
      wait_copies<kMapStages - 2>();
      block_.barrier();  // what all warps have copied and stored is there, and the last step's has been read
      copy(step + kMapStages - 1);
      WKVC_FOR(i, Rows / 16,
               mma_nt(sums[i % 2], rows.template cols<16>(Rows * n + 16 * i),
                      trans(at(step).template rows<16>(16 * i).template cols<16>(col0_))));
    }
    next = next + (sums[0] + sums[1]);
  }

 private:
  using Slab = MapSlab<K, Rows>;
  static constexpr int kSteps = K / Rows, kRing = kMapStages * Slab::bytes;
  static constexpr int kAcross = K / kPiece<f32>, kPieces = Rows * kAcross;

  WKVC_INLINE Slab at(int step) const {
    return {reinterpret_cast<f32*>(block_.memory + step % kMapStages * Slab::bytes)};
  }
  WKVC_INLINE void copy(int step) const {
    if (step < steps_) copy_rows(step);
    commit_copies();
  }
  WKVC_INLINE void copy_rows(int step) const {
    const long long segment = segment_behind<Backward>(block_, step / kSteps);
    const f32* from = global_row<const f32>(segments_, block_, (V + K) * segment + V + step % kSteps * Rows);
    const int stride = row_stride(segments_);
    const Slab to = at(step);
    lanes::for_each([&](int lane) {
      for (int i = 32 * block_.warp + lane; i < kPieces; i += 32 * block_.warps) {
        const int row = i / kAcross, column = kPiece<f32> * (i % kAcross);
        copy::piece(to.at(row, column), from + row * stride + column, true);
      }
    });
  }

  const TensorArg& segments_;
  const Block& block_;
  int steps_, col0_;
};

template <int V, int K, int Rows, bool Backward>
class SegmentMaps<Map::diagonal, V, K, Rows, Backward> {
 public:
  using Fetched = RowVec<16>;

  WKVC_INLINE SegmentMaps(const TensorArg& segments, const Block& block, int col0)
      : segments_(segments), block_(block), col0_(col0) {}

  WKVC_INLINE Fetched fetch(int before) const {
    const long long segment = segment_behind<Backward>(block_, before);
    const f32* from = global_row<const f32>(segments_, block_, (V + 16) * segment + V) + col0_;
    Fetched diagonal;
    WKVC_EACH_SLOT(PerColumn, 16, diagonal.v[i][s] = from[PerColumn::position<16>(i, s)]);
    return diagonal;
  }
  WKVC_INLINE void apply(Tile<f32, 16, 16>& next, const Tile<f32, 16, 16>& S, const Fetched& diagonal, int) const {
    next = next + S * diagonal;
  }

 private:
  const TensorArg& segments_;
  const Block& block_;
  int col0_;
};

// Replaces the B of each segment, the first V rows of its summary, by the state before it (Backward: after it, in the
// order of gradients). K/16 warps have a strip of 16 rows, 16 columns each. A block has as many strips as it has such
// warps, a divisor of V/16. The blocks of a sequence share all strips. Full maps have Rows of them copied at once, a
// divisor of K. What a segment adds, and a diagonal map, are loaded a segment ahead of their use.
template <Map Kind, int V, int K, int Rows, bool Backward, class T = f32, StateLayout Order = StateLayout::vk>
WKVC_INLINE void combine_segments(const TensorArg& segments, const TensorArg& initial, const Block& block) {
  using Maps = SegmentMaps<Kind, V, K, Rows, Backward>;
  constexpr int kWarps = K / 16;
  const int of_block = block.warps / kWarps * 16, of_warp = block.warp / kWarps * 16;
  const int col0 = 16 * (block.warp % kWarps), summaries = block.segments - 1;  // nothing follows the last segment
  const auto first_row = [&](int before) WKVC_INLINE_LAMBDA {
    return static_cast<long long>(V + kMapRows<Kind, K>) * segment_behind<Backward>(block, before);
  };
  for (int row0 = of_block * block.segment + of_warp; row0 < V; row0 += of_block * block.segments) {
    const Maps maps(segments, block, col0);
    Tile<f32, 16, 16> S, added{};
    typename Maps::Fetched fetched{};
    const auto fetch = [&](int before) WKVC_INLINE_LAMBDA {
      if (before >= summaries) return;
      load_state(added, segments, block, first_row(before) + row0, col0);
      fetched = maps.fetch(before);
    };
    load_state<T, Order>(S, initial, block, row0, col0);
    fetch(0);
    for (int n = 0; n < summaries; ++n) {
      Tile<f32, 16, 16> next = added;
      const typename Maps::Fetched map = fetched;
      fetch(n + 1);
      store_state(S, segments, block, first_row(n) + row0, col0);
      maps.apply(next, S, map, n);
      // A map that changes nothing would round the state of no token.
      if (!kMapsSequences || block.tokens > 0) S = next;
    }
    store_state(S, segments, block, first_row(summaries) + row0, col0);
  }
}

}  // namespace wkvc
