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

// How many times the rows of a map that are copied at once have room: the ones that are read, and those to come.
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

// The maps of segments, of each of which this warp has 16 columns. `before` is how many maps come before one.
template <Map Kind, int V, int K, int Rows, bool Backward>
class SegmentMaps;

// Rows of a map at once lie in shared memory, where all warps of the block copy them ahead of their use. Behind them
// lie two tiles for each 16 rows of the state: for those that meet this map, and those that the last one met.
template <int V, int K, int Rows, bool Backward>
class SegmentMaps<Map::full, V, K, Rows, Backward> {
 public:
  struct Fetched {};

  WKVC_INLINE SegmentMaps(const TensorArg& segments, const Block& block, int col0)
      : segments_(segments), block_(block), steps_((block.segments - 1) * kSteps), col0_(col0) {
    block.barrier();  // other rows of the state have met all maps
    WKVC_FOR(step, kMapStages - 1, copy(step));
  }

  WKVC_INLINE Fetched fetch(int) const { return {}; }  // all are copied ahead

  // next += S times the map; S is this warp's columns, which warps with the same rows need. All warps of a block call
  // this.
  WKVC_INLINE void apply(Tile<f32, 16, 16>& next, const Tile<f32, 16, 16>& S, Fetched, int before) const {
    constexpr int kTile = Shared<f32, 16, K>::bytes;
    const int group = block_.warp / (K / 16);
    const auto rows = block_.template shared<f32, 16, K>(kMapStages * Slab::bytes + (2 * group + before % 2) * kTile);
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
  using Slab = Shared<f32, Rows, K, K + 4>;  // whose transposed blocks are read without bank conflicts
  static constexpr int kSteps = K / Rows, kPieces = Rows * K / kPiece<f32>;

  WKVC_INLINE Slab at(int step) const {
    return {reinterpret_cast<f32*>(block_.memory + step % kMapStages * Slab::bytes)};
  }
  WKVC_INLINE void copy(int step) const {
    if (step < steps_) copy_rows(step);
    commit_copies();
  }
  WKVC_INLINE void copy_rows(int step) const {
    const int n = step / kSteps, segment = Backward ? block_.segments - 1 - n : n, stride = row_stride(segments_);
    const long long row0 = (V + K) * static_cast<long long>(segment) + V + step % kSteps * Rows;
    const f32* from = global_row<const f32>(segments_, block_, row0);
    const Slab to = at(step);
    lanes::for_each([&](int lane) {
      for (int i = 32 * block_.warp + lane; i < kPieces; i += 32 * block_.warps) {
        const int row = i / (K / kPiece<f32>), column = i % (K / kPiece<f32>)*kPiece<f32>;
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
    const long long segment = Backward ? block_.segments - 1 - before : before;
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
// order of gradients). K/16 warps have 16 rows, 16 columns each; so many warps of a block have rows one behind the
// other, which are a divisor of V, and the blocks of a sequence share all rows. Rows: of a full map that are copied at
// once, a divisor of K. What a segment adds and a diagonal map are loaded a segment ahead of their use.
template <Map Kind, int V, int K, int Rows, bool Backward, class T = f32, StateLayout Order = StateLayout::vk>
WKVC_INLINE void combine_segments(const TensorArg& segments, const TensorArg& initial, const Block& block) {
  using Maps = SegmentMaps<Kind, V, K, Rows, Backward>;
  constexpr int kWarps = K / 16;
  const int of_block = block.warps / kWarps * 16, of_warp = block.warp / kWarps * 16;
  const int col0 = 16 * (block.warp % kWarps), summaries = block.segments - 1;  // nothing follows the last segment
  const auto first_row = [&](int before) WKVC_INLINE_LAMBDA {
    const long long segment = Backward ? block.segments - 1 - before : before;
    return (V + kMapRows<Kind, K>)*segment;
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
