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

// The maps of segments, K columns of which this warp has 16.
template <Map Kind, int V, int K>
struct SegmentMaps;

template <int V, int K>
struct SegmentMaps<Map::full, V, K> {
  Tile<f32, 16, K> columns;  // transposed: this warp's columns, and all rows

  WKVC_INLINE void load(const TensorArg& segments, const BlockBase& block, long long segment, int col0) {
    const f32* from = global_row<const f32>(segments, block, (V + K) * segment + V) + col0;
    WKVC_EACH_ELEMENT(16, K, columns.block[i][j].unit[e] = from[column_of(j, e) * row_stride(segments) + row_of(i, e)]);
  }
  // next += S times the map; S is this warp's columns, which the others need.
  template <class Block>
  WKVC_INLINE void apply(Tile<f32, 16, 16>& next, const Tile<f32, 16, 16>& S, const Shared<f32, 16, K>& shared,
                         const Block& block, int col0) const {
    block.barrier();  // the last segment's has been read
    store(shared.template cols<16>(col0), S);
    block.barrier();
    mma_nt(next, shared, columns);
  }
};

template <int V, int K>
struct SegmentMaps<Map::diagonal, V, K> {
  RowVec<16> diagonal;

  WKVC_INLINE void load(const TensorArg& segments, const BlockBase& block, long long segment, int col0) {
    const f32* from = global_row<const f32>(segments, block, (V + 16) * segment + V) + col0;
    WKVC_EACH_SLOT(PerColumn, 16, diagonal.v[i][s] = from[PerColumn::position<16>(i, s)]);
  }
  template <class Block>
  WKVC_INLINE void apply(Tile<f32, 16, 16>& next, const Tile<f32, 16, 16>& S, const Shared<f32, 16, K>&, const Block&,
                         int) const {
    next = next + S * diagonal;
  }
};

// Replaces the B of each segment, the first V rows of its summary, by the state before it (Backward: after it, in the
// order of gradients). K/16 warps, each for 16 columns; the blocks of a sequence share its rows.
template <Map Kind, int V, int K, bool Backward, class T = f32, StateLayout Order = StateLayout::vk, class Block>
WKVC_INLINE void combine_segments(const TensorArg& segments, const TensorArg& initial, const Block& block) {
  constexpr int kRows = V + kMapRows<Kind, K>;
  const auto shared = block.template shared<f32, 16, K>(0);
  const int col0 = 16 * block.warp;
  for (int row0 = 16 * block.segment; row0 < V; row0 += 16 * block.segments) {
    Tile<f32, 16, 16> S;
    load_state<T, Order>(S, initial, block, row0, col0);
    for (int n = 0; n < block.segments; ++n) {
      const long long segment = Backward ? block.segments - 1 - n : n;
      const bool last = n + 1 == block.segments;  // nothing follows it, so it has no summary
      Tile<f32, 16, 16> next{};
      SegmentMaps<Kind, V, K> map{};
      if (!last) {
        load_state(next, segments, block, kRows * segment + row0, col0);
        map.load(segments, block, segment, col0);
      }
      store_state(S, segments, block, kRows * segment + row0, col0);
      if (!last) map.apply(next, S, shared, block, col0);
      // A map that changes nothing would round the state of no token.
      if (!kMapsSequences || block.tokens > 0) S = next;
    }
  }
}

}  // namespace wkvc
